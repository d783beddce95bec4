import { didYouMean } from '../../../base/nearest.ts'
import { PUSH_OPTIONS, type PushOptions } from '../../../queue/push-options.ts'
import type { CommandLine, Value } from './command-line.ts'
import type { PushCommand, SetupCommand } from './phases.ts'
import { readWhole } from '../../../base/numbers.ts'

const COMMANDS = ['read', 'push', 'run', 'queue', 'send', 'check', 'receive', 'inbox', 'cancel']
const COMMAND = new RegExp(`^/(?:${COMMANDS.join('|')})(?=\\s|$)`)
const LITERAL = new RegExp(`^/(?=/+(?:${COMMANDS.join('|')})(?:\\s|$))`)

const MOST_TASKS = 1_000_000

/** Whether a line starts with a command, even one that is not allowed there. */
export function isCommand(line: string): boolean {
  return COMMAND.test(line)
}

/** Whether a line is a command escaped by another slash, and therefore text. */
export function isLiteral(line: string): boolean {
  return LITERAL.test(line)
}

export function isBlank(line: string): boolean {
  return line.trim() === ''
}

/** The first and the last line that is text; if there is none, all lines are before the first. */
export function findEdges(
  lines: readonly string[],
  isText: (line: string) => boolean,
): { readonly first: number; readonly last: number } {
  const first = lines.findIndex(isText)
  if (first === -1) return { first: lines.length, last: lines.length }
  return { first, last: lines.findLastIndex(isText) }
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
        `${word.text} is not a prompt command.`,
        `Use /read, /push and /run before the content, and /push after it. ${literally(word)}`,
      )
  }
}

export function parseTeardownCommand(line: CommandLine): PushCommand {
  const word = line.takeWord()
  if (word.text === '/push') return parsePush(line, word, 'teardown')
  throw line.refuse(
    word,
    `${word.text} is not allowed after the content; only /push is.`,
    ['/read', '/run'].includes(word.text)
      ? `Move it before the content. ${literally(word)}`
      : literally(word),
  )
}

function literally({ text }: Value): string {
  return `To send it as text, double the slash: /${text}`
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
  'Use /run for all, /run 3 for the oldest three, or /run parallel=3 for all, three at a time.'

function readTasks(what: string, text: string): number {
  return readWhole(what, text, { least: 1, most: MOST_TASKS }, RUN_HINT)
}

/**
 * The options of `/push`. They end at the first word that does not look like one, so that a prompt
 * needs no quotes. An unknown `word=` is refused: a misspelt option would silently become text.
 */
function takePushOptions(line: CommandLine, phase: 'setup' | 'teardown'): PushOptions {
  let options: PushOptions = {}
  const seen = new Set<string>()
  for (let name = line.takeOptionName(); name !== undefined; name = line.takeOptionName()) {
    const read = PUSH_OPTIONS.get(name.text)
    if (read === undefined) throw unknownOption(line, name)
    if (name.text === 'on' && phase === 'setup') throw onInSetup(line, name)
    if (seen.has(name.text)) throw line.refuse(name, `'${name.text}' is given twice.`)
    seen.add(name.text)
    options = { ...options, ...line.read(line.takeOptionValue(name), read) }
  }
  return options
}

function onInSetup(line: CommandLine, name: Value) {
  return line.refuse(
    name,
    "'on' is only allowed after the content: before it, the outcome of the agent is not known.",
    'Move the line after the content, or remove the option.',
  )
}

function unknownOption(line: CommandLine, name: Value) {
  const word = name.text.replace(/^--/, '')
  const guess = PUSH_OPTIONS.has(word)
    ? `, write ${word}=value.`
    : didYouMean(word, PUSH_OPTIONS.keys())
  return line.refuse(
    name,
    `/push has no option '${name.text}'${guess === '' ? '.' : guess}`,
    `Options are ${[...PUSH_OPTIONS.keys()].join(', ')}. If the prompt begins here, put it in quotes.`,
  )
}
