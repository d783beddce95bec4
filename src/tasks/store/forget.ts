import { UserError } from '../../base/errors.ts'
import { idOfName } from '../archive.ts'
import { listCheckouts, makeFinder } from './checkouts.ts'
import type { Places } from './places.ts'
import { scanTasks } from './scan.ts'
import type { Claim, State } from './state.ts'

/** So many finished tasks are remembered: every command reads the state. */
const MOST_FINISHED = 500

/** Not one at a time: to find out which of them can go costs more than to read some more. */
const SLACK = 100

const MOST_ATTEMPTS = 50

/** The state without what is old and of no use to anybody. */
export function forgetOldest(state: State, places: Places): State {
  return forgetSettled(forgetAttempts(state), places)
}

type Settled = readonly [id: string, claim: Claim]

/** What some checkout still waits for is kept, however much it is; that is looked at only once in a while. */
function forgetSettled(state: State, places: Places): State {
  const limit = Math.max(MOST_FINISHED, state.kept ?? 0) + SLACK
  if (Object.keys(state.claims).length <= limit) return state
  const settled = Object.entries(state.claims).filter(([, { settled: how }]) => how !== undefined)
  if (settled.length <= limit) return state
  const isNeeded = makeNeed(state, places)
  const useless = settled.filter((each) => !isNeeded(each))
  const dates = useless.map(([id, { at }]): Dated => [id, at])
  const gone = oldestOf(dates, settled.length - MOST_FINISHED)
  return { ...state, claims: without(state.claims, gone), kept: settled.length - gone.size }
}

/** Whether a checkout would hand a task out that is finished in another one. */
function makeNeed(state: State, here: Places): (settled: Settled) => boolean {
  const checkouts = listCheckouts(state, here).map((each) => ({ each, isOpen: makeIsOpen(each) }))
  const findCheckout = makeFinder(here)
  return ([id, claim]) => {
    const there = findCheckout(claim)
    if (there === undefined) return false
    // Of another project in the same repository: to be seen when somebody is there.
    if (there.inside !== here.inside) return true
    return checkouts.some(({ each, isOpen }) => each.root !== there.root && isOpen(id))
  }
}

/** Where that cannot be known, it may be. */
function makeIsOpen(places: Places): (id: string) => boolean {
  let open: ReadonlySet<string> | 'unknown' | undefined
  return (id) => {
    open ??= readOpen(places) ?? 'unknown'
    return open === 'unknown' || open.has(id)
  }
}

function readOpen(places: Places): ReadonlySet<string> | undefined {
  try {
    const { tasks, broken } = scanTasks(places)
    const open = tasks.filter(({ status }) => status !== 'Done' && status !== 'Blocked')
    const unknown = broken.map(({ file }) => idOfName(file) ?? file)
    return new Set([...open.map(({ id }) => id), ...unknown])
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return undefined
  }
}

type Attempts = State['attempts']

function forgetAttempts(state: State): State {
  const attempts = cutAttempts(state.attempts)
  const ended = Object.entries(attempts)
  if (ended.length <= MOST_FINISHED + SLACK) {
    return attempts === state.attempts ? state : { ...state, attempts }
  }
  const isOld = ([id]: (typeof ended)[number]) => !isHeld(state, id)
  const { done = [], open = [] } = Object.groupBy(ended.filter(isOld), ([, each]) =>
    each.at(-1)?.outcome === 'done' ? 'done' : 'open',
  )
  const gone = [done, open].flatMap((some) => {
    const dates = some.map(([id, each]): Dated => [id, each.at(-1)?.ended ?? ''])
    const isMuch = dates.length > MOST_FINISHED + SLACK
    return isMuch ? [...oldestOf(dates, dates.length - MOST_FINISHED)] : []
  })
  return { ...state, attempts: without(attempts, new Set(gone)) }
}

function isHeld({ claims }: State, id: string): boolean {
  return claims[id] !== undefined && claims[id].settled === undefined
}

function cutAttempts(attempts: Attempts): Attempts {
  const long = Object.entries(attempts).filter(([, each]) => each.length > MOST_ATTEMPTS)
  if (long.length === 0) return attempts
  const cut = long.map(([id, each]) => [id, each.slice(-MOST_ATTEMPTS)] as const)
  return { ...attempts, ...Object.fromEntries(cut) }
}

type Dated = readonly [id: string, at: string]

function oldestOf(dates: readonly Dated[], count: number): ReadonlySet<string> {
  const sorted = dates.toSorted(([, a], [, b]) => (a < b ? -1 : 1))
  return new Set(sorted.slice(0, count).map(([id]) => id))
}

function without<Value>(
  all: Readonly<Record<string, Value>>,
  gone: ReadonlySet<string>,
): Readonly<Record<string, Value>> {
  return Object.fromEntries(Object.entries(all).filter(([id]) => !gone.has(id)))
}
