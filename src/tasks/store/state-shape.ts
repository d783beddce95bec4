import { isObject } from '../../base/json.ts'
import type { FileStamp } from './folder.ts'

/** Identifies a git worktree even after it was moved. */
export interface WorktreeIdentity {
  /** The name of its folder in `.git/worktrees`. */
  readonly name: string
  /** When that folder was created, because names are reused. */
  readonly bornMs: number
  /** The path from its top to the project, if not the same. */
  readonly inside?: string
}

/** Who holds a task: an iteration of a run, or a name with a lease. */
export interface Claim {
  readonly owner: string
  /** Absent for a person or an agent outside a run. */
  readonly run?: {
    readonly id: string
    readonly step: string
    readonly iteration: string
    readonly process?: string
  }
  readonly at: string
  /** When the claim expires unless renewed; in a run, only if its process cannot be checked. */
  readonly until?: string
  /** How far each command of the owner extends `until`. */
  readonly leaseMs?: number
  /** The path of the checkout at the time of the claim. */
  readonly root: string
  readonly worktree?: WorktreeIdentity
  /** How the work ended; other checkouts wait for the merge. */
  readonly settled?: 'done' | 'blocked'
}

/** A claim that has ended. */
export interface Attempt {
  readonly owner: string
  readonly at: string
  readonly ended: string
  readonly outcome: 'done' | 'blocked' | 'released' | 'failed'
  readonly why?: string
  /** This failure made the task Blocked. */
  readonly isLast?: true
  readonly run?: Claim['run']
}

export interface FileMove {
  readonly from: string
  readonly to: string
  /** The target before the change; null if it did not exist. */
  readonly was?: FileStamp | null
}

/** Local to a clone: never committed, shared by its worktrees. */
export interface State {
  readonly version: 1
  /** The highest number used, by prefix: ids are never reused. */
  readonly numbers: Readonly<Record<string, number>>
  readonly claims: Readonly<Record<string, Claim>>
  readonly attempts: Readonly<Record<string, readonly Attempt[]>>
  /** The moves of the last change, in case its writer is killed, and moves that failed so far. */
  readonly moves?: readonly FileMove[]
  /** The top of the main worktree, which git does not always know. */
  readonly main?: string | undefined
  /** Ids that were deleted on purpose, so that the doctor does not report them. */
  readonly deleted?: readonly string[]
}

type Fields = Readonly<Record<string, unknown>>
type Test = (value: unknown) => boolean

/** Drops invalid entries of a damaged state. Every command runs this, so it avoids a schema library. */
export function shapeState(fields: Fields): State {
  const { moves, deleted, main } = fields
  return {
    version: 1,
    numbers: keepValid<number>(fields['numbers'], Number.isSafeInteger),
    claims: keepValid<Claim>(fields['claims'], isClaim),
    attempts: keepValid<readonly Attempt[]>(fields['attempts'], isAttempts),
    moves: Array.isArray(moves) ? (moves.filter(isMove) as FileMove[]) : [],
    ...(isText(main) ? { main } : {}),
    ...(Array.isArray(deleted) ? { deleted: deleted.filter(isText) } : {}),
  }
}

function keepValid<Value>(value: unknown, isValid: Test): Readonly<Record<string, Value>> {
  if (!isObject(value)) return {}
  const valid = Object.entries(value).filter(([, each]) => isValid(each))
  return Object.fromEntries(valid) as Record<string, Value>
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

const isNumber: Test = (value) => typeof value === 'number'

const optional =
  (test: Test): Test =>
  (value) =>
    value === undefined || test(value)

function hasFields(tests: Readonly<Record<string, Test>>): Test {
  const all = Object.entries(tests)
  return (value) => isObject(value) && all.every(([key, test]) => test(value[key]))
}

/** Thirty thousand years; `Date` ends not much later. */
const LONGEST_MS = 1e15

const isRun = hasFields({ id: isText, step: isText, iteration: isText, process: optional(isText) })

const isClaim = hasFields({
  owner: isText,
  at: isText,
  root: isText,
  run: optional(isRun),
  worktree: optional(hasFields({ name: isText, bornMs: isNumber, inside: optional(isText) })),
  until: optional((value) => isText(value) && !Number.isNaN(Date.parse(value))),
  leaseMs: optional((value) => typeof value === 'number' && value >= 0 && value <= LONGEST_MS),
  settled: optional((value) => value === 'done' || value === 'blocked'),
})

const OUTCOMES: readonly unknown[] = [
  'done',
  'blocked',
  'released',
  'failed',
] satisfies Attempt['outcome'][]

const isAttempt = hasFields({
  owner: isText,
  at: isText,
  ended: isText,
  outcome: (value) => OUTCOMES.includes(value),
  why: optional(isText),
  run: optional(isRun),
})

const isAttempts: Test = (value) => Array.isArray(value) && value.every(isAttempt)

const isStamp = hasFields({ mtimeMs: isNumber, size: isNumber, ino: isNumber })

const isMove = hasFields({
  from: isText,
  to: isText,
  was: optional((value) => value === null || isStamp(value)),
})
