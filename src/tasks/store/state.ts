import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeFileAtomic } from '../../base/atomic-write.ts'
import type { Places } from './places.ts'
import type { Seal } from './seal.ts'
import { shapeState } from './state-shape.ts'

/** A worktree of git by what a move of it does not change. */
export interface Worktree {
  /** Of its folder in `.git/worktrees`. */
  readonly name: string
  /** When that folder was made: the name may be given again. */
  readonly bornMs: number
  /** The way from its top to the project, where there is one. */
  readonly inside?: string
}

/** Who holds a task: an iteration of a run, or a name with a time to live. */
export interface Claim {
  readonly owner: string
  /** Absent for a person or an agent outside of a run. */
  readonly run?: {
    readonly id: string
    readonly step: string
    readonly iteration: string
    readonly process?: string
  }
  readonly at: string
  /** Until when a claim holds if its owner is not heard of; in a run, if its process cannot be seen. */
  readonly until?: string
  /** By how long each command of its owner puts that off. */
  readonly leaseMs?: number
  /** The checkout in which it was made, by the place where it was then. */
  readonly root: string
  readonly worktree?: Worktree
  /** How the work ended there; other checkouts have to wait for the merge. */
  readonly settled?: 'done' | 'blocked'
}

/** One claim that is over. */
export interface Attempt {
  readonly owner: string
  readonly at: string
  readonly ended: string
  readonly outcome: 'done' | 'blocked' | 'released' | 'failed'
  readonly why?: string
  /** It was one too many: the task became Blocked. */
  readonly isLast?: true
  /** The iteration that had it, where it was one. */
  readonly run?: Claim['run']
}

/** A file that takes the place of another, or leaves its own. */
export interface Move {
  readonly from: string
  readonly to: string
}

/** What is local to a clone: never committed, shared by its worktrees. */
export interface State {
  readonly version: 1
  /** The highest number that was given by prefix: an id is never given twice. */
  readonly numbers: Readonly<Record<string, number>>
  readonly claims: Readonly<Record<string, Claim>>
  readonly attempts: Readonly<Record<string, readonly Attempt[]>>
  /** What the last change moves, unless its writer was killed, and what could not be moved so far. */
  readonly moves?: readonly Move[]
  /** By folder of tasks. */
  readonly seals?: Readonly<Record<string, Seal>>
}

/** A state that cannot be read counts as empty: the files are the truth. */
export function readState(places: Places): State {
  return shapeState(readObject(places))
}

function readObject(places: Places): Record<string, unknown> {
  const path = findState(places)
  if (path === undefined) return {}
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'))
    const isOurs = typeof value === 'object' && value !== null && 'version' in value
    return isOurs && value.version === 1 ? value : {}
  } catch {
    return {}
  }
}

export function hasState(places: Places): boolean {
  return findState(places) !== undefined
}

/** A project that has become a repository brings its state along, until the next change writes it there. */
function findState({ shared, local }: Places): string | undefined {
  return [shared, local].map(pathIn).find((path) => existsSync(path))
}

function pathIn(folder: string): string {
  return join(folder, 'state.json')
}

export function writeState(places: Places, state: State): void {
  const text = JSON.stringify(forgetOldest(state))
  writeFileAtomic(pathIn(places.shared), text, { durable: false })
}

/** So many finished tasks are remembered: every command reads the state. */
const MOST_FINISHED = 500

/** Not one at a time: to sort them costs more than to read some more. */
const SLACK = 100

const MOST_ATTEMPTS = 50

function forgetOldest(state: State): State {
  const mayBeMany = [state.claims, state.attempts].some(
    (each) => Object.keys(each).length > MOST_FINISHED,
  )
  if (!mayBeMany) return { ...state, attempts: cutAttempts(state.attempts) }
  const settled = Object.entries(state.claims).flatMap(([id, claim]): Dated[] =>
    claim.settled === undefined ? [] : [[id, claim.at]],
  )
  const attempts = Object.entries(state.attempts).filter(([id]) => !isHeld(state, id))
  const isDone = ([, each]: (typeof attempts)[number]) => each.at(-1)?.outcome === 'done'
  const { done = [], open = [] } = Object.groupBy(attempts, (each) =>
    isDone(each) ? 'done' : 'open',
  )
  const dated = ([id, each]: (typeof attempts)[number]): Dated => [id, each.at(-1)?.ended ?? '']
  const some = withoutOldest(cutAttempts(state.attempts), done.map(dated))
  return {
    ...state,
    claims: withoutOldest(state.claims, settled),
    attempts: withoutOldest(some, open.map(dated)),
  }
}

function isHeld({ claims }: State, id: string): boolean {
  return claims[id] !== undefined && claims[id].settled === undefined
}

type Dated = readonly [id: string, at: string]

function withoutOldest<Value>(
  all: Readonly<Record<string, Value>>,
  dates: readonly Dated[],
): Readonly<Record<string, Value>> {
  if (dates.length <= MOST_FINISHED + SLACK) return all
  const oldest = dates
    .toSorted(([, a], [, b]) => (a < b ? -1 : 1))
    .slice(0, dates.length - MOST_FINISHED)
  const gone = new Set(oldest.map(([id]) => id))
  return Object.fromEntries(Object.entries(all).filter(([id]) => !gone.has(id)))
}

function cutAttempts(attempts: State['attempts']): State['attempts'] {
  const long = Object.entries(attempts).filter(([, each]) => each.length > MOST_ATTEMPTS)
  if (long.length === 0) return attempts
  const cut = long.map(([id, each]) => [id, each.slice(-MOST_ATTEMPTS)] as const)
  return { ...attempts, ...Object.fromEntries(cut) }
}
