import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { UNFINISHED, writeFileAtomic } from '../base/atomic-write.ts'
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
  /** By how long each command of its owner puts that off. */
  readonly leaseMs?: number
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
    ignoreLocal(places)
    return withLock(join(places.shared, 'lock'), () => {
      clearUnfinished(places.shared)
      return work(readState(places), (state) => {
        writeFileAtomic(pathOf(places), JSON.stringify(state), { durable: false })
      })
    })
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

/** Writes a task file; what a crash leaves behind is not left in the folder of the tasks. */
export function writeTask(places: Places, path: string, text: string): void {
  writeFileAtomic(path, text, { via: places.shared })
}

/** Outside of git the local state lies beside the tasks, and keeps itself out of a later repository. */
export function ignoreLocal({ shared, tasks }: Places): void {
  const path = join(shared, '.gitignore')
  if (shared.startsWith(tasks) && statOf(path) === undefined) writeFileSync(path, '*\n')
}

/** Only the holder of the lock writes here, so what is unfinished belongs to the dead. */
function clearUnfinished(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (name.startsWith(UNFINISHED)) rmSync(join(folder, name), { force: true })
  }
}

function pathOf(places: Places): string {
  return join(places.shared, 'state.json')
}
