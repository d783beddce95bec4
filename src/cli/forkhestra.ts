import { nearest } from '../base/nearest.ts'
import { UnknownOption, UsageError } from './command.ts'
import { runCommand } from './commands/run.ts'
import { guessCommand } from './first-guesses.ts'
import { lateCommand, type Program } from './program.ts'

const COMMANDS: Program['commands'] = {
  run: () => Promise.resolve(runCommand),
  chat: async () => (await import('./commands/chat.ts')).chatCommand,
  init: async () => (await import('./commands/init.ts')).initCommand,
  list: async () => (await import('./commands/list.ts')).listCommand,
  validate: async () => (await import('./commands/validate.ts')).validateCommand,
  doctor: async () => (await import('./commands/doctor.ts')).doctorCommand,
  prompt: async () => (await import('./commands/prompt.ts')).promptCommand,
  status: async () => (await import('./commands/status.ts')).statusCommand,
  runs: async () => (await import('./commands/runs.ts')).runsCommand,
  show: async () => (await import('./commands/show.ts')).showCommand,
  logs: async () => (await import('./commands/logs.ts')).logsCommand,
  cost: async () => (await import('./commands/cost.ts')).costCommand,
  stop: async () => (await import('./commands/stop.ts')).stopCommand,
  resume: async () => (await import('./commands/resume.ts')).resumeCommand,
  'retry-now': async () => (await import('./commands/retry-now.ts')).retryNowCommand,
  clean: async () => (await import('./commands/clean.ts')).cleanCommand,
  push: async () => (await import('./commands/push.ts')).pushCommand,
  'run-queue': async () => (await import('./commands/run-queue.ts')).runQueueCommand,
  queue: async () => (await import('./commands/queue.ts')).queueCommand,
  check: async () => (await import('./commands/check.ts')).checkCommand,
  receive: async () => (await import('./commands/receive.ts')).receiveCommand,
  inbox: async () => (await import('./commands/inbox.ts')).inboxCommand,
  send: async () => (await import('./commands/send.ts')).sendCommand,
  cancel: async () => (await import('./commands/cancel.ts')).cancelCommand,
  mcp: async () => (await import('./commands/mcp.ts')).mcpCommand,
  tasks: async () => (await import('./tasks/program.ts')).FORGE_TASKS,
  'fake-model': async () => (await import('./commands/fake-model.ts')).fakeModelCommand,
  completions: async () => (await import('./commands/completions.ts')).completionsCommand,
  help: async () => (await import('./commands/help.ts')).makeHelpCommand(FORKHESTRA),
  version: async () => (await import('./commands/version.ts')).makeVersionCommand('forkhestra'),
}

export const COMMAND_NAMES: readonly string[] = Object.keys(COMMANDS)

const isCommand = (word: string) => COMMAND_NAMES.includes(word)

export const FORKHESTRA: Program = {
  name: 'forkhestra',
  summary: runCommand.summary,
  prefix: '[forkhestra] Error',
  commands: COMMANDS,
  fallback: 'run',
  reserved: new Set('ui watch worker workers worktrees store upgrade uninstall'.split(' ')),
  async help() {
    const [{ columns, renderHelp }, { summariesOf }] = await Promise.all([
      import('./help.ts'),
      import('./program.ts'),
    ])
    const commands = columns(await summariesOf(FORKHESTRA))
    return `${renderHelp('', runCommand)}\n\nCommands:\n${commands.join('\n')}`
  },
  guess(words, error) {
    const [word = '', ...more] = words
    if (error instanceof UnknownOption && COMMAND_NAMES.includes(error.option))
      return new UsageError(error.message, `Write: forkhestra ${error.option}`)
    const late = error instanceof UnknownOption ? more.find(isCommand) : undefined
    if (word.startsWith('-'))
      return late === undefined ? undefined : lateCommand(FORKHESTRA, words, late)
    const close = nearest(word, COMMAND_NAMES)
    const guess = guessCommand(word, more) ?? (close && `forkhestra ${[close, ...more].join(' ')}`)
    if (guess === undefined) return undefined
    const message = error?.message ?? `Unknown command '${word}'.`
    return new UsageError(message, `'${word}' is not a command. Did you mean: ${guess}`)
  },
}
