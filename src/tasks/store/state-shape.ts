import type { Attempt, Claim, Move, State } from './state.ts'

type Fields = Readonly<Record<string, unknown>>
type Test = (value: unknown) => boolean

/** Drops entries of the wrong shape: the state may be damaged. Every command runs this, so it avoids a schema library. */
export function shapeState(fields: Fields): State {
  const { moves, kept, deleted, main } = fields
  return {
    version: 1,
    numbers: keepRight<number>(fields['numbers'], Number.isSafeInteger),
    claims: keepRight<Claim>(fields['claims'], isClaim),
    attempts: keepRight<readonly Attempt[]>(fields['attempts'], isAttempts),
    moves: Array.isArray(moves) ? (moves.filter(isMove) as Move[]) : [],
    ...(isText(main) ? { main } : {}),
    ...(Number.isSafeInteger(kept) ? { kept: kept as number } : {}),
    ...(Array.isArray(deleted) ? { deleted: deleted.filter(isText) } : {}),
  }
}

function keepRight<Value>(value: unknown, isRight: Test): Readonly<Record<string, Value>> {
  if (!isObject(value)) return {}
  const right = Object.entries(value).filter(([, each]) => isRight(each))
  return Object.fromEntries(right) as Record<string, Value>
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
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
