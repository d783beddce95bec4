import { UserError } from '../../base/errors.ts'
import { idOfFileName } from '../file-name.ts'
import { listCheckouts, makeCheckoutFinder } from './checkouts.ts'
import type { TaskFolders } from '../folders.ts'
import { scanTasks } from './scan.ts'
import type { Claim, State } from './state-shape.ts'

/** Limits the state, because every command reads it. */
const MOST_FINISHED = 500

/** Finding out what can be dropped is slow, so it is done for many entries at once. */
const SLACK = 100

const MOST_ATTEMPTS = 50

/** Drops old claims and attempts that are no longer needed. */
export function pruneState(state: State, folders: TaskFolders): State {
  return forgetSettled(forgetAttempts(state), folders)
}

type Settled = readonly [id: string, claim: Claim]

/** Keeps every settled claim that some checkout has not merged yet. */
function forgetSettled(state: State, folders: TaskFolders): State {
  const limit = MOST_FINISHED + SLACK
  const settled = Object.entries(state.claims).filter(([, { settled: how }]) => how !== undefined)
  if (settled.length <= limit) return state
  const isNeeded = makeIsNeeded(state, folders)
  const unneeded = settled.filter((each) => !isNeeded(each))
  const dates = unneeded.map(([id, { at }]): Dated => [id, at])
  const gone = oldestOf(dates, settled.length - MOST_FINISHED)
  return { ...state, claims: without(state.claims, gone) }
}

/** Whether some checkout would still offer a task that is finished in another one. */
function makeIsNeeded(state: State, here: TaskFolders): (settled: Settled) => boolean {
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

/** Whether a task is open in a checkout; true for all if its tasks cannot be read. */
function makeIsOpen(folders: TaskFolders): (id: string) => boolean {
  try {
    const { tasks, broken } = scanTasks(folders)
    const open = tasks.filter(({ status }) => status !== 'Done' && status !== 'Blocked')
    const unknown = broken.map(({ file }) => idOfFileName(file) ?? file)
    const ids = new Set([...open.map(({ id }) => id), ...unknown])
    return (id) => ids.has(id)
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return () => true
  }
}

/** Keeps unfinished tasks longer than finished ones, and those that are held always. */
function forgetAttempts({ claims, attempts, ...rest }: State): State {
  const all = Object.entries(attempts)
  const dates = all
    .filter(([id]) => claims[id] === undefined || claims[id].settled !== undefined)
    .map(([id, each]): Dated => {
      const { outcome, ended } = each.at(-1) ?? { outcome: 'done', ended: '' }
      return [id, outcome === 'done' ? ended : `open ${ended}`]
    })
  const isMuch = dates.length > MOST_FINISHED + SLACK
  const gone = oldestOf(dates, isMuch ? dates.length - MOST_FINISHED : 0)
  const cut = all.map(([id, each]) => [id, each.slice(-MOST_ATTEMPTS)] as const)
  return { ...rest, claims, attempts: without(Object.fromEntries(cut), gone) }
}

/** Sorts as text, so that ISO dates come before anything that begins with a letter. */
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
