import type { Attempt, Claim, Move, State } from './state.ts'

type Fields = Readonly<Record<string, unknown>>

/** Drops entries of the wrong shape: the state may be damaged. Every command runs this, so it avoids a schema library. */
export function shapeState(fields: Fields): State {
  const { moves, kept, deleted, main } = fields
  return {
    version: 1,
    numbers: keepRight(fields['numbers'], isCount),
    claims: keepRight(fields['claims'], isClaim),
    attempts: keepRight(fields['attempts'], isAttempts),
    moves: Array.isArray(moves) ? moves.filter(isMove) : [],
    ...(typeof main === 'string' ? { main } : {}),
    ...(isCount(kept) ? { kept } : {}),
    ...(Array.isArray(deleted) ? { deleted: deleted.filter((id) => typeof id === 'string') } : {}),
  }
}

/** Copies only if something is wrong. */
function keepRight<Value>(
  value: unknown,
  isRight: (value: unknown) => value is Value,
): Readonly<Record<string, Value>> {
  if (!isObject(value)) return {}
  const all = Object.values(value)
  for (let at = 0; at < all.length; at++) if (!isRight(all[at])) return pickRight(value, isRight)
  return value as Readonly<Record<string, Value>>
}

function pickRight<Value>(
  fields: Fields,
  isRight: (value: unknown) => value is Value,
): Readonly<Record<string, Value>> {
  const right: Record<string, Value> = {}
  for (const [key, value] of Object.entries(fields)) if (isRight(value)) right[key] = value
  return right
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

/** Thirty thousand years; `Date` ends not much later. */
const LONGEST_MS = 1e15

function isClaim(value: unknown): value is Claim {
  if (!isObject(value)) return false
  const { owner, at, root, run, until, leaseMs, settled, worktree } = value
  if (typeof owner !== 'string' || typeof at !== 'string' || typeof root !== 'string') return false
  if (settled !== undefined && settled !== 'done' && settled !== 'blocked') return false
  if (run !== undefined && !isRun(run)) return false
  if (worktree !== undefined && !isWorktree(worktree)) return false
  if (until !== undefined && !isTime(until)) return false
  return (
    leaseMs === undefined || (typeof leaseMs === 'number' && leaseMs >= 0 && leaseMs <= LONGEST_MS)
  )
}

function isTime(value: unknown): boolean {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value))
}

function isRun(value: unknown): boolean {
  if (!isObject(value)) return false
  const { id, step, iteration, process = '' } = value
  return [id, step, iteration, process].every((each) => typeof each === 'string')
}

function isWorktree(value: unknown): boolean {
  if (!isObject(value)) return false
  const { name, bornMs, inside = '' } = value
  return typeof name === 'string' && typeof bornMs === 'number' && typeof inside === 'string'
}

function isAttempts(value: unknown): value is readonly Attempt[] {
  return Array.isArray(value) && value.every(isAttempt)
}

const OUTCOMES: readonly unknown[] = [
  'done',
  'blocked',
  'released',
  'failed',
] satisfies Attempt['outcome'][]

function isAttempt(value: unknown): value is Attempt {
  if (!isObject(value)) return false
  const { owner, at, ended, outcome, why, run } = value
  if (typeof owner !== 'string' || typeof at !== 'string' || typeof ended !== 'string') return false
  if (run !== undefined && !isRun(run)) return false
  return OUTCOMES.includes(outcome) && (why === undefined || typeof why === 'string')
}

function isMove(value: unknown): value is Move {
  if (!isObject(value) || typeof value['from'] !== 'string') return false
  const { to, was } = value
  if (typeof to !== 'string') return false
  if (was === undefined || was === null) return true
  if (!isObject(was)) return false
  const { mtimeMs, size, ino } = was
  return typeof mtimeMs === 'number' && typeof size === 'number' && typeof ino === 'number'
}
