import type { Command } from '../command.ts'

export const initCommand: Command = {
  summary: 'Set up a project: configuration, spec templates, personas.',
  usage: ['forkhestra init [--eject-prompts] [--agents-md] [--json]'],
  examples: [
    ['forkhestra init', 'existing files are not changed'],
    [
      'forkhestra init --eject-prompts',
      'also write the built-in prompts, so that you can edit them',
    ],
    ['forkhestra init --agents-md', 'also describe forkhestra to coding agents'],
  ],
  json: 'object',
  options: {
    'eject-prompts': { help: 'also write the built-in prompts to forge/orch/prompts' },
    'agents-md': { help: 'also add a section about forkhestra to AGENTS.md or CLAUDE.md' },
    cwd: {
      value: '<path>',
      help: 'project folder (default: found from the current folder upwards)',
    },
    json: { help: 'one JSON object' },
  },
  words: [],
  async run(input) {
    const { initProject } = await import('../init-project.ts')
    return initProject(input)
  },
}
