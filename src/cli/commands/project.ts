import type { Command } from '../command.ts'
import { CONFIG_OPTIONS, CWD, JSON_OBJECT } from './run.ts'

export const PROJECT_COMMANDS = {
  init: {
    summary: 'Set up a project: configuration, spec templates, personas.',
    usage: ['forkhestra init [--eject-prompts] [--agents-md] [--json]'],
    examples: [
      ['forkhestra init', 'create what is missing; existing files are not changed'],
      ['forkhestra init --eject-prompts', 'also write the built-in prompts, for editing'],
      ['forkhestra init --agents-md', 'also describe forkhestra to coding agents'],
    ],
    options: {
      'eject-prompts': { help: 'also write the built-in prompts to forge/orch/prompts' },
      'agents-md': { help: 'also add a section about forkhestra to AGENTS.md or CLAUDE.md' },
      ...CWD,
      ...JSON_OBJECT,
    },
    words: [],
    run: async (input) => (await import('../init-project.ts')).initProject(input),
  },
  list: {
    summary: 'List the available chains and agents.',
    usage: ['forkhestra list [--json | --plain]'],
    examples: [
      ['forkhestra list', 'chains and agents, own and built-in'],
      ['forkhestra list --plain', 'for scripts: kind, name and description, separated by tabs'],
    ],
    options: {
      ...CONFIG_OPTIONS,
      plain: { help: 'print one line per chain or agent' },
      ...JSON_OBJECT,
    },
    words: [],
    run: async (input) => (await import('../list-chains.ts')).listChains(input),
  },
  validate: {
    summary: 'Check the configuration, with every chain, agent and file it names.',
    usage: ['forkhestra validate [--json]'],
    examples: [
      ['forkhestra validate', 'exit code 2 and a list of all problems if there are any'],
      ['forkhestra validate --config other.json', 'check another file'],
    ],
    options: { ...CONFIG_OPTIONS, ...JSON_OBJECT },
    words: [],
    run: async (input) =>
      (await import('../validate-configuration.ts')).validateConfiguration(input),
  },
  doctor: {
    summary: 'Check what a run needs: coding CLIs, login, git, configuration, disk, clock.',
    usage: ['forkhestra doctor [--failed] [--json]'],
    examples: [
      ['forkhestra doctor', 'show each problem and its fix; uses no tokens'],
      ['forkhestra doctor --json', 'for scripts; exit code 1 if there is a problem'],
    ],
    options: {
      failed: { help: 'show only warnings and problems' },
      ...CONFIG_OPTIONS,
      ...JSON_OBJECT,
    },
    words: [],
    run: async (input) => (await import('../doctor.ts')).runDoctor(input),
  },
  prompt: {
    summary: 'Check a prompt: its phases, the files it reads, the tasks it queues.',
    usage: [
      'forkhestra prompt check FILE [--json]                 a prompt file, or - for stdin',
      'forkhestra prompt check --chain <name> [VAR=value …]  the prompts of a chain',
    ],
    examples: [
      ['forkhestra prompt check prompts/build.md', 'exit code 2 and the problems if there are any'],
      ['forkhestra prompt check --chain build', 'check the prompt of every step'],
    ],
    options: {
      chain: { value: '<name>', help: 'check the prompts of a chain from the configuration' },
      'raw-prompt': { help: 'treat the prompt as plain text' },
      ...CONFIG_OPTIONS,
      ...JSON_OBJECT,
    },
    run: async (input) => (await import('../prompt-check.ts')).checkPrompt(input),
  },
} satisfies Record<string, Command>
