import { nearest } from '../base/nearest.ts'
import { UnknownOption, UsageError } from './command.ts'
import {
  fakeModelCommand,
  makeCompletionsCommand,
  makeHelpCommand,
  makeVersionCommand,
} from './commands/general.ts'
import { PROJECT_COMMANDS } from './commands/project.ts'
import { QUEUE_COMMANDS } from './commands/queue.ts'
import { RECORD_COMMANDS } from './commands/records.ts'
import { chatCommand, runCommand } from './commands/run.ts'
import { guessFirstWord } from './first-guesses.ts'
import { columns, renderHelp } from './help.ts'
import { lateCommand, summariesOf, type Program } from './program.ts'

const COMMANDS: Program['commands'] = {
  run: runCommand,
  chat: chatCommand,
  ...PROJECT_COMMANDS,
  ...RECORD_COMMANDS,
  ...QUEUE_COMMANDS,
  tasks: async () => (await import('./tasks/program.ts')).FORGE_TASKS,
  'fake-model': fakeModelCommand,
  completions: makeCompletionsCommand('forkhestra', async () => {
    return (await import('./completions/forkhestra.ts')).FORKHESTRA_COMPLETIONS
  }),
  help: async () => makeHelpCommand(FORKHESTRA),
  version: makeVersionCommand('forkhestra'),
}

export const COMMAND_NAMES: readonly string[] = Object.keys(COMMANDS)

const isCommand = (word: string) => COMMAND_NAMES.includes(word)

export const FORKHESTRA: Program = {
  name: 'forkhestra',
  summary: runCommand.summary,
  prefix: '[forkhestra] Error',
  commands: COMMANDS,
  fallback: 'run',
  reserved: new Set('ui worker workers store upgrade uninstall'.split(' ')),
  async help() {
    const commands = columns(await summariesOf(FORKHESTRA))
    return `${renderHelp(runCommand)}\n\nCommands:\n${commands.join('\n')}`
  },
  guess(words, error) {
    const [word = '', ...more] = words
    if (error instanceof UnknownOption && COMMAND_NAMES.includes(error.option))
      return new UsageError(error.message, `Use: forkhestra ${error.option}`)
    const late = error instanceof UnknownOption ? more.find(isCommand) : undefined
    if (word.startsWith('-'))
      return late === undefined ? undefined : lateCommand(FORKHESTRA, words, late)
    const close = nearest(word, COMMAND_NAMES)
    const guess =
      guessFirstWord(word, more) ?? (close && `forkhestra ${[close, ...more].join(' ')}`)
    if (guess === undefined) return undefined
    const message = error?.message ?? `Unknown command '${word}'.`
    return new UsageError(message, `'${word}' is not a command. Did you mean: ${guess}`)
  },
}
