import { CommandLine, type Value } from './command-line.ts'
import type { PushCommand, SetupCommand } from './phases.ts'
import { readWhole, takePushOptions } from './push-options.ts'

const COMMANDS = ['read', 'push', 'run', 'queue', 'send', 'check', 'receive', 'inbox', 'cancel']
const COMMAND = new RegExp(`^/(?:${COMMANDS.join('|')})(?=\\s|$)`)
const LITERAL = new RegExp(`^/(?=/+(?:${COMMANDS.join('|')})(?:\\s|$))`)

const MOST_TASKS = 1_000_000

/** Whether a line begins with a command of ours, whether or not it may stand there. */
export function isCommand(line: string): boolean {
  return COMMAND.test(line)
}

/** Whether a line is a command with a further slash before it, and so a line of text. */
export function isLiteral(line: string): boolean {
  return LITERAL.test(line)
}

export function parseSetupCommand(line: CommandLine): SetupCommand {
  const word = line.takeWord()
  switch (word.text) {
    case '/read':
      return { kind: 'read', path: takeNeeded(line, word, 'path of a file'), line: line.line }
    case '/push':
      return parsePush(line, word, 'setup')
    case '/run':
      return { kind: 'run', ...takeRunOptions(line), line: line.line }
    default:
      throw line.refuse(
        word,
        `${word.text} is no command of a prompt.`,
        `A prompt begins with /read, /push and /run and ends with /push. ${literally(word)}`,
      )
  }
}

export function parseTeardownCommand(line: CommandLine): PushCommand {
  const word = line.takeWord()
  if (word.text === '/push') return parsePush(line, word, 'teardown')
  throw line.refuse(
    word,
    `${word.text} cannot stand behind the content, only /push can.`,
    ['/read', '/run'].includes(word.text)
      ? `Move it before the content. ${literally(word)}`
      : literally(word),
  )
}

function literally({ text }: Value): string {
  return `For a line of text, write /${text} with two slashes.`
}

function parsePush(line: CommandLine, word: Value, phase: 'setup' | 'teardown'): PushCommand {
  const options = takePushOptions(line, phase)
  return { kind: 'push', ...options, prompt: takeNeeded(line, word, 'prompt'), line: line.line }
}

function takeNeeded(line: CommandLine, word: Value, what: string): string {
  const value = line.takeRest()
  if (value === undefined) throw line.refuse(word, `The ${what} is missing.`, literally(word))
  const isEmpty = line.read(value, (text) => text.trim() === '')
  if (isEmpty) throw line.refuse(value, `The ${what} is empty.`)
  return value.text
}

function takeRunOptions(line: CommandLine): { count?: number; parallel?: number } {
  const name = line.takeOptionName()
  if (name === undefined) {
    const value = line.takeRest()
    if (value === undefined) return {}
    return { count: line.read(value, (text) => readTasks('The number of tasks', text)) }
  }
  if (name.text !== 'parallel') {
    throw line.refuse(name, `/run has no option '${name.text}'.`, RUN_HINT)
  }
  const width = line.takeOptionValue(name)
  const rest = line.takeRest()
  if (rest !== undefined) throw line.refuse(rest, '/run takes one number.', RUN_HINT)
  return { parallel: line.read(width, (text) => readTasks('parallel', text)) }
}

const RUN_HINT =
  'Write /run for all, /run 3 for the oldest three, /run parallel=3 for all, three at a time.'

function readTasks(what: string, text: string): number {
  return readWhole(what, text, { least: 1, most: MOST_TASKS }, RUN_HINT)
}
