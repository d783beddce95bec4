import type { Command } from '../command.ts'

export const initCommand: Command = {
  summary: 'Prepare a project: a configuration to begin with, templates for the specs, personas.',
  usage: ['forkhestra init [--eject-prompts] [--agents-md] [--json]'],
  examples: [
    ['forkhestra init', 'what is there already is left alone'],
    ['forkhestra init --eject-prompts', 'also the prompts of the built-in agents, to change them'],
    ['forkhestra init --agents-md', 'also tell coding agents about forkhestra'],
  ],
  options: {
    'eject-prompts': { help: 'also write the built-in prompts to forge/orch/prompts' },
    'agents-md': { help: 'also add a section about forkhestra to AGENTS.md or CLAUDE.md' },
    cwd: { value: '<path>', help: 'the project folder, taken literally' },
    json: { help: 'one JSON object' },
  },
  words: [],
  async run(input) {
    const { initProject } = await import('../init-project.ts')
    return initProject(input)
  },
}
