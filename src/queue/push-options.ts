import { parseDuration } from '../base/durations.ts'
import { UserError } from '../base/errors.ts'
import { didYouMean } from '../base/nearest.ts'
import { readWhole } from '../base/numbers.ts'
import { shellWord } from '../base/shell-quote.ts'
import type { TaskHead } from './task.ts'

/** The options of `/push`. */
export interface PushOptions {
  readonly name?: string
  readonly agent?: string
  readonly model?: string
  readonly timeoutMs?: number
  readonly retry?: number
  readonly isolation?: 'shared' | 'worktree'
  readonly on?: 'success' | 'failure' | 'always'
  readonly onParentEnd?: 'wait' | 'cancel'
}

const RETRIES = { least: 0, most: 100 }

export const PUSH_OPTIONS = new Map<string, (value: string) => PushOptions>([
  ['name', (value) => ({ name: checkTaskName(value) })],
  ['agent', (value) => ({ agent: readName('agent', value) })],
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

/** Reads options whose names are known to be right. */
export function readPushOptions(values: Iterable<readonly [string, string]>): PushOptions {
  return [...values].reduce(
    (options, [name, value]) => ({ ...options, ...PUSH_OPTIONS.get(name)?.(value) }),
    {} as PushOptions,
  )
}

/** The command that pushes a task again, with everything that was set for it but its prompt. */
export function pushCommand(
  { name, options, retry }: Pick<TaskHead, 'name' | 'options' | 'retry'>,
  place: string,
): string {
  const { agent, model, timeoutMs, isolation, onParentEnd } = options
  const timeout = timeoutMs === undefined ? undefined : formatTimeout(timeoutMs)
  const values = { name, agent, model, timeout, isolation, on_parent_end: onParentEnd }
  const given = Object.entries(values).flatMap(([option, value]) =>
    value === undefined ? [] : [`${option}=${shellWord(value)}`],
  )
  const again = retry === 0 ? [] : [`retry=${retry}`]
  return [`forkhestra push${place}`, ...given, ...again, '"PROMPT"'].join(' ')
}

function formatTimeout(ms: number): string {
  return ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`
}

const LONGEST_NAME = 100
const NAME = /^[\p{L}\p{N}][\p{L}\p{M}\p{N}._#-]*$/u
const HINT = "Use letters, digits, '-', '_', '.' and '#', with a letter or digit first and last."

/**
 * Task names appear in comma-separated lists, paths and branch names, so spaces, slashes and `..` are
 * refused.
 */
function checkTaskName(name: string): string {
  if (name === '') throw new UserError('The name of the task is empty.', HINT)
  if (name.length > LONGEST_NAME) {
    throw new UserError(
      `The name of the task has ${name.length} characters; the limit is ${LONGEST_NAME}.`,
    )
  }
  if (name === 'main') {
    throw new UserError("'main' is reserved for the first agent of a run.", 'Choose another name.')
  }
  const isName = NAME.test(name) && !name.includes('..') && !/[._#-]$/.test(name)
  if (!isName) throw new UserError(`${JSON.stringify(name)} is not a valid task name.`, HINT)
  return name
}

/** A bare number means seconds. */
function readTimeout(text: string): number {
  const ms = Math.round(parseDuration(/^\d+$/.test(text) ? `${text}s` : text, 'timeout'))
  if (ms > 0) return ms
  throw new UserError('timeout must be greater than 0.', 'Leave it out for no limit.')
}

function readOneOf<const T extends string>(what: string, text: string, allowed: readonly T[]): T {
  const found = allowed.find((value) => value === text)
  if (found !== undefined) return found
  throw new UserError(
    `${what} is ${JSON.stringify(text)}, expected ${allowed.join(' or ')}.`,
    `Write ${allowed.map((value) => `${what}=${value}`).join(' or ')}.`,
  )
}

/** Allows any name, because custom servers have their own models; refuses only misspelt aliases. */
function readModel(text: string): string {
  const model = readName('model', text)
  const guess = /[\d/]/.test(model) ? '' : didYouMean(model, ['sonnet', 'opus', 'haiku'])
  if (guess === '') return model
  throw new UserError(`Unknown model ${JSON.stringify(model)}${guess}`)
}

function readName(what: string, text: string): string {
  // oxlint-disable-next-line no-control-regex
  if (text.trim() !== '' && !/[\u0000-\u001f\u007f]/.test(text)) return text
  throw new UserError(`${what} is ${JSON.stringify(text)}, expected a name.`)
}
