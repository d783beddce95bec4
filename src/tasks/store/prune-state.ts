import { UserError } from '../../base/errors.ts'
import { idOfName } from '../archive.ts'
import { listCheckouts, makeCheckoutFinder } from './checkouts.ts'
import type { Places } from './places.ts'
import { scanTasks } from './scan.ts'
import type { Claim, State } from './state.ts'

/** Limits the state, because every command reads it. */
const MOST_FINISHED = 500

/** Finding out what can be dropped is slow, so it is done for many entries at once. */
const SLACK = 100

const MOST_ATTEMPTS = 50

/** Drops old claims and attempts that are no longer needed. */
export function pruneState(state: State, places: Places): State {
  return forgetSettled(forgetAttempts(state), places)
}

type Settled = readonly [id: string, claim: Claim]

/** Keeps every settled claim that some checkout has not merged yet. */
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

/** Whether some checkout would offer a task that is finished in another one. */
function makeNeed(state: State, here: Places): (settled: Settled) => boolean {
  const checkouts = listCheckouts(state, here).map((each) => ({ each, isOpen: makeIsOpen(each) }))
  const findCheckout = makeCheckoutFinder(here)
  return ([id, claim]) => {
    const there = findCheckout(claim)
    if (there === undefined) return false
    // Belongs to another project of the repository, which is not checked from here.
    if (there.inside !== here.inside) return true
    return checkouts.some(({ each, isOpen }) => each.root !== there.root && isOpen(id))
  }
}

/** Assumes true if the tasks cannot be read. */
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
