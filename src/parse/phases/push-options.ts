import { parseDuration } from '../../base/durations.ts'
import { UserError } from '../../base/errors.ts'
import { didYouMean } from '../../base/nearest.ts'
import type { CommandLine, Value } from './command-line.ts'
import type { PushOptions } from './phases.ts'
import { checkTaskName } from './task-name.ts'

const RETRIES: Range = { least: 0, most: 100 }

const READERS = new Map<string, (value: string) => PushOptions>([
  ['name', (value) => ({ name: checkTaskName(value) })],
  ['agent', (value) => ({ agent: readWords('agent', value) })],
  ['model', (value) => ({ model: readModel(value) })],
  ['timeout', (value) => ({ timeoutMs: readTimeout(value) })],
  ['retry', (value) => ({ retry: readWhole('retry', value, RETRIES) })],
  ['isolation', (value) => ({ isolation: readOneOf('isolation', value, ['shared', 'worktree']) })],
  ['on', (value) => ({ on: readOneOf('on', value, ['success', 'failure', 'always']) })],
  [
    'on_parent_end',
    (value) => ({ onParentEnd: readOneOf('on_parent_end', value, ['wait', 'cancel']) }),
  ],
])

/**
 * The options of `/push`. They end at the first word that does not look like one, so that a bare
 * prompt needs no quotes; a `word=` of which nobody has heard is refused rather than taken as the
 * prompt's first word, because a misspelt option would be lost in it without a sound.
 */
export function takePushOptions(line: CommandLine, phase: 'setup' | 'teardown'): PushOptions {
  let options: PushOptions = {}
  const seen = new Set<string>()
  for (let name = line.takeOptionName(); name !== undefined; name = line.takeOptionName()) {
    const read = READERS.get(name.text)
    if (read === undefined) throw unknownOption(line, name)
    if (name.text === 'on' && phase === 'setup') throw onInSetup(line, name)
    if (seen.has(name.text)) throw line.refuse(name, `'${name.text}' is there twice.`)
    seen.add(name.text)
    options = { ...options, ...line.read(line.takeOptionValue(name), read) }
  }
  return options
}

/** The same options where they are values of their own; the names are known to be right. */
export function readPushOptions(values: Iterable<readonly [string, string]>): PushOptions {
  return [...values].reduce(
    (options, [name, value]) => ({ ...options, ...READERS.get(name)?.(value) }),
    {} as PushOptions,
  )
}

/** How the agent will end is not known yet. */
function onInSetup(line: CommandLine, name: Value) {
  return line.refuse(
    name,
    "'on' belongs to the teardown: what stands before the content runs always.",
    'Move the line behind the content, or leave it out.',
  )
}

function unknownOption(line: CommandLine, name: Value) {
  const word = name.text.replace(/^--/, '')
  const guess = READERS.has(word) ? `, write ${word}=value.` : didYouMean(word, READERS.keys())
  return line.refuse(
    name,
    `/push has no option '${name.text}'${guess === '' ? '.' : guess}`,
    `Options are ${[...READERS.keys()].join(', ')}. If the prompt begins here, put it in quotes.`,
  )
}

interface Range {
  readonly least: number
  readonly most: number
}

/** A whole number of digits alone. */
export function readWhole(what: string, text: string, { least, most }: Range, hint?: string) {
  const number = /^\d{1,15}$/.test(text) ? Number(text) : NaN
  if (number >= least && number <= most) return number
  throw new UserError(
    `${what} is ${JSON.stringify(text)}, expected a whole number from ${least} to ${most}.`,
    hint,
  )
}

/** A number alone is seconds. */
function readTimeout(text: string): number {
  const ms = Math.round(parseDuration(/^\d+$/.test(text) ? `${text}s` : text, 'timeout'))
  if (ms > 0) return ms
  throw new UserError('timeout is 0, which no task can keep.', 'Leave it out for no limit.')
}

function readOneOf<T extends string>(what: string, text: string, words: readonly T[]): T {
  const found = words.find((word) => word === text)
  if (found !== undefined) return found
  throw new UserError(
    `${what} is ${JSON.stringify(text)}, expected ${words.join(' or ')}.`,
    `Write ${words.map((word) => `${what}=${word}`).join(' or ')}.`,
  )
}

/** Servers of one's own may call their models anything but a misspelt name of claude's. */
function readModel(text: string): string {
  const model = readWords('model', text)
  const guess = /[\d/]/.test(model) ? '' : didYouMean(model, ['sonnet', 'opus', 'haiku'])
  if (guess === '') return model
  throw new UserError(`Unknown model ${JSON.stringify(model)}${guess}`)
}

function readWords(what: string, text: string): string {
  // oxlint-disable-next-line no-control-regex
  if (text.trim() !== '' && !/[\u0000-\u001f\u007f]/.test(text)) return text
  throw new UserError(`${what} is ${JSON.stringify(text)}, expected a name.`)
}
