import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeFileAtomic } from '../base/atomic-write.ts'
import { errorCode, errorText, UserError } from '../base/errors.ts'
import { statOf } from '../base/files.ts'
import { withLock } from '../base/lock.ts'
import type { Places } from './places.ts'

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
  /** Until when a claim outside of a run holds, if its owner is not heard of. */
  readonly until?: string
  /** The checkout in which it was made. */
  readonly root: string
  /** Set when the task was finished there; other checkouts have to wait for the merge. */
  readonly isDone?: boolean
}

/** One claim that is over. */
export interface Attempt {
  readonly owner: string
  readonly at: string
  readonly ended: string
  readonly outcome: 'done' | 'blocked' | 'released' | 'failed'
  readonly why?: string
}

/** What is local to a clone: never committed, shared by its worktrees. */
export interface State {
  readonly version: 1
  /** The highest number that was given by prefix: an id is never given twice. */
  readonly numbers: Readonly<Record<string, number>>
  readonly claims: Readonly<Record<string, Claim>>
  readonly attempts: Readonly<Record<string, readonly Attempt[]>>
}

const EMPTY: State = { version: 1, numbers: {}, claims: {}, attempts: {} }

/** A state that cannot be read counts as empty: the files are the truth. */
export function readState(places: Places): State {
  try {
    const state = JSON.parse(readFileSync(pathOf(places), 'utf8')) as Partial<State>
    return state.version === 1 ? { ...EMPTY, ...state } : EMPTY
  } catch {
    return EMPTY
  }
}

/** Runs a change while no other process changes this database, in any worktree of the clone. */
export function change<Result>(
  places: Places,
  work: (state: State, save: (state: State) => void) => Result,
): Result {
  try {
    mkdirSync(places.tasks, { recursive: true })
    mkdirSync(places.shared, { recursive: true })
    if (places.shared.startsWith(places.tasks)) ignoreLocal(places.shared)
    return withLock(join(places.shared, 'lock'), () =>
      work(readState(places), (state) => {
        writeFileAtomic(pathOf(places), JSON.stringify(state), { durable: false })
      }),
    )
  } catch (error) {
    const code = errorCode(error)
    if (code === undefined || error instanceof UserError) throw error
    throw new CannotWrite(`The tasks in ${places.tasks} cannot be changed: ${errorText(error)}`)
  }
}

/** A read-only folder, a full disk: nothing was changed. */
class CannotWrite extends UserError {
  override readonly exitCode = 1
}

function ignoreLocal(folder: string): void {
  const path = join(folder, '.gitignore')
  if (statOf(path) === undefined) writeFileSync(path, '*\n')
}

function pathOf(places: Places): string {
  return join(places.shared, 'state.json')
}
