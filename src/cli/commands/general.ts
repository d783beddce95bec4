import { VERSION } from '../../host/version.ts'
import type { Command } from '../command.ts'
import type { Completions } from '../completions/program.ts'
import { printResult } from '../print.ts'
import { printHelp, type Program } from '../program.ts'
import { JSON_OBJECT } from './run.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const

export function makeCompletionsCommand(name: string, load: () => Promise<Completions>): Command {
  return {
    summary: 'Print a completion script for a shell.',
    usage: [`${name} completions bash|zsh|fish`],
    examples: [
      [`source <(${name} completions bash)`, 'in ~/.bashrc'],
      [`source <(${name} completions zsh)`, 'in ~/.zshrc'],
      [`${name} completions fish | source`, 'in ~/.config/fish/config.fish'],
    ],
    options: {},
    words: SHELLS,
    async run(input) {
      const { printCompletions } = await import('../completions/print.ts')
      return printCompletions(await load(), input)
    },
  }
}

export const fakeModelCommand: Command = {
  summary: 'Serve a scripted model to test a chain without spending tokens.',
  usage: [
    'forkhestra fake-model <script> -- <command> [args…]',
    'forkhestra fake-model <script> [--port <n>]',
    'forkhestra fake-model <script> --check',
  ],
  examples: [
    [
      'forkhestra fake-model night.jsonc -- forkhestra --chain build',
      'run a chain against the script',
    ],
    ['forkhestra fake-model night.jsonc --check', 'check the script'],
    ['forkhestra fake-model night.jsonc >env &', 'serve until SIGTERM; to use it: . ./env'],
  ],
  options: {
    port: { value: '<n>', help: 'port on 127.0.0.1 (default: any free port)' },
    log: { value: '<file>', help: 'log every request to this file, one JSON object per line' },
    continue: {
      help: 'continue where the script stopped last time; implied by forkhestra resume',
    },
    check: { help: 'check the script and exit' },
  },
  wordsBeforeCommand: 1,
  run: async (input) => (await import('../run-fake-model.ts')).runFakeModel(input),
}

export function makeHelpCommand(program: Program): Command {
  const { name } = program
  return {
    summary: `Show help for ${name} or one of its commands.`,
    usage: [`${name} help [COMMAND]`],
    examples: [
      [`${name} help`, 'all commands'],
      [`${name} help list`, `the same as: ${name} list --help`],
    ],
    options: {},
    run: ({ positionals, rest }) => printHelp(program, [...positionals, ...rest]),
  }
}

export function makeVersionCommand(name: string): Command {
  return {
    summary: 'Print the version.',
    usage: [`${name} version [--json]`],
    examples: [[`${name} version`, `the same as: ${name} --version`]],
    options: JSON_OBJECT,
    words: [],
    run: async (input) => printResult(input, { version: VERSION }, VERSION),
  }
}
