import type { Attempt, Claim, Move, State } from './state.ts'
import type { Seal } from './seal.ts'

type Fields = Readonly<Record<string, unknown>>

/** What has the wrong shape counts as missing: a state may have been written by hand, or by halves. */
export function shapeState(fields: Fields): State {
  return {
    version: 1,
    numbers: keepRight(fields['numbers'], isCount),
    claims: keepRight(fields['claims'], isClaim),
    attempts: shapeAttempts(fields['attempts']),
    moves: shapeList(fields['moves'], isMove),
    seals: keepRight(fields['seals'], isSeal),
    ...(isCount(fields['kept']) ? { kept: fields['kept'] } : {}),
  }
}

/** Copied only where something is wrong: every command reads all of it. */
function keepRight<Value>(
  value: unknown,
  isRight: (value: unknown) => value is Value,
): Readonly<Record<string, Value>> {
  if (!isObject(value)) return {}
  const isAllRight = (all: Fields): all is Readonly<Record<string, Value>> =>
    Object.values(all).every(isRight)
  if (isAllRight(value)) return value
  const right = Object.entries(value).flatMap(([key, each]) => (isRight(each) ? [[key, each]] : []))
  return Object.fromEntries(right) as Record<string, Value>
}

function shapeList<Value>(
  value: unknown,
  isRight: (value: unknown) => value is Value,
): readonly Value[] {
  if (!Array.isArray(value)) return []
  return value.every(isRight) ? value : value.filter(isRight)
}

function shapeAttempts(value: unknown): State['attempts'] {
  const lists = keepRight(value, (each): each is readonly unknown[] => Array.isArray(each))
  const isAllRight = (all: typeof lists): all is State['attempts'] =>
    Object.values(all).every((each) => each.every(isAttempt))
  if (isAllRight(lists)) return lists
  const right = Object.entries(lists).map(([id, each]) => [id, shapeList(each, isAttempt)])
  return Object.fromEntries(right) as State['attempts']
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number'
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

function isTime(value: unknown): boolean {
  return isText(value) && !Number.isNaN(Date.parse(value))
}

/** Thirty thousand years: behind that there are no dates. */
const LONGEST_MS = 1e15

function isLease(value: unknown): boolean {
  return isNumber(value) && value >= 0 && value <= LONGEST_MS
}

function isAbsentOr(value: unknown, isRight: (value: unknown) => boolean): boolean {
  return value === undefined || isRight(value)
}

function isClaim(value: unknown): value is Claim {
  return (
    isObject(value) &&
    isText(value['owner']) &&
    isText(value['at']) &&
    isText(value['root']) &&
    isAbsentOr(value['worktree'], isWorktree) &&
    isAbsentOr(value['run'], isRun) &&
    isAbsentOr(value['until'], isTime) &&
    isAbsentOr(value['leaseMs'], isLease) &&
    isAbsentOr(value['settled'], (word) => word === 'done' || word === 'blocked')
  )
}

function isWorktree(value: unknown): boolean {
  return (
    isObject(value) &&
    isText(value['name']) &&
    isNumber(value['bornMs']) &&
    isAbsentOr(value['inside'], isText)
  )
}

function isRun(value: unknown): boolean {
  return (
    isObject(value) &&
    isText(value['id']) &&
    isText(value['step']) &&
    isText(value['iteration']) &&
    isAbsentOr(value['process'], isText)
  )
}

const OUTCOMES: readonly unknown[] = [
  'done',
  'blocked',
  'released',
  'failed',
] satisfies Attempt['outcome'][]

function isAttempt(value: unknown): value is Attempt {
  return (
    isObject(value) &&
    isText(value['owner']) &&
    isText(value['at']) &&
    isText(value['ended']) &&
    OUTCOMES.includes(value['outcome']) &&
    isAbsentOr(value['why'], isText) &&
    isAbsentOr(value['run'], isRun)
  )
}

function isMove(value: unknown): value is Move {
  return (
    isObject(value) &&
    isText(value['from']) &&
    isText(value['to']) &&
    isAbsentOr(value['was'], (was) => was === null || isPrint(was))
  )
}

function isPrint(value: unknown): boolean {
  return ['mtimeMs', 'size', 'ino'].every((key) => isObject(value) && isNumber(value[key]))
}

function isSeal(value: unknown): value is Seal {
  return (
    isObject(value) &&
    isText(value['prefix']) &&
    isNumber(value['tasksMs']) &&
    isNumber(value['archiveMs'])
  )
}
