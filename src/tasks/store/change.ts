import {
  lstatSync,
  mkdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { unfinishedPath, writeFileAtomic, writeNewFile } from '../../base/atomic-write.ts'
import { errorCode, errorText, UserError } from '../../base/errors.ts'
import { statOf } from '../../base/files.ts'
import { withLock } from '../../base/lock.ts'
import { discard, recover } from './moves.ts'
import type { Places } from './places.ts'
import { readState, statePath, type Move, type State } from './state.ts'

/** A read-only folder, a full disk: nothing was changed. */
export class CannotWrite extends UserError {
  override readonly exitCode = 1
}

/**
 * What a change is going to do. Nothing happens before `commit`, and then everything does: the new
 * contents lie beside, the state says where each belongs, and whoever finds them there after a crash
 * moves them.
 */
export class Draft {
  readonly #places: Places
  readonly #texts = new Map<string, string>()
  readonly #moves: Move[] = []
  readonly #removed: string[] = []
  #saved: State
  state: State

  constructor(places: Places, state: State) {
    this.#places = places
    this.#saved = this.state = state
  }

  write(path: string, text: string): void {
    this.#texts.set(path, text)
  }

  move(from: string, to: string): void {
    this.#moves.push({ from, to })
  }

  remove(path: string): void {
    const to = unfinishedPath(this.#folderFor(path))
    this.#removed.push(to)
    this.#moves.push({ from: path, to })
  }

  commit(): void {
    const moves = [...this.#writeBeside(), ...this.#moves]
    this.#begin(moves)
    for (const { from, to } of moves.slice(1)) renameSync(from, to)
    for (const path of this.#removed) rmSync(path, { force: true })
    this.#texts.clear()
    this.#moves.length = 0
    this.#saved = this.state
  }

  /** Up to the first move everything can be taken back; from then on it will be ended. */
  #begin(moves: readonly Move[]): void {
    const isListed = this.state !== this.#saved || moves.length > 1
    let isSaved = false
    try {
      if (isListed) this.#save({ ...this.state, moves })
      isSaved = isListed
      if (moves[0] !== undefined) renameSync(moves[0].from, moves[0].to)
    } catch (error) {
      discard(moves)
      if (isSaved) this.#save(this.#saved)
      throw error
    }
  }

  #save(state: State): void {
    writeFileAtomic(statePath(this.#places), JSON.stringify(state), { durable: false })
  }

  #writeBeside(): Move[] {
    const moves: Move[] = []
    try {
      for (const [path, text] of this.#texts) moves.push(this.#writeText(path, text))
      return moves
    } catch (error) {
      discard(moves)
      throw error
    }
  }

  /** A link stays a link, and a file keeps its permissions. */
  #writeText(path: string, text: string): Move {
    const old = lstatSync(path, { throwIfNoEntry: false })
    const to = old?.isSymbolicLink() ? realpathSync(path) : path
    const from = unfinishedPath(this.#folderFor(to))
    const mode = (to === path ? old : statOf(to))?.mode
    writeNewFile(from, text, { durable: true, mode })
    return { from, to }
  }

  /** Out of sight where the disk is the same, so that a crash leaves nothing among the tasks. */
  #folderFor(path: string): string {
    const { shared } = this.#places
    const folder = dirname(path)
    const disk = statOf(folder)?.dev ?? makeFolder(folder)
    return disk === statSync(shared).dev ? shared : folder
  }
}

function makeFolder(path: string): number {
  mkdirSync(path, { recursive: true })
  return statSync(path).dev
}

/** Runs a change while no other process changes this database, in any worktree of the clone. */
export function change<Result>(places: Places, work: (draft: Draft) => Result): Result {
  try {
    if (statOf(places.shared) === undefined) mkdirSync(places.shared, { recursive: true })
    ignoreLocal(places)
    return withLock(join(places.shared, 'lock'), () => {
      const state = readState(places)
      recover(places, state)
      const draft = new Draft(places, state)
      const result = work(draft)
      draft.commit()
      return result
    })
  } catch (error) {
    if (errorCode(error) === undefined || error instanceof UserError) throw error
    throw new CannotWrite(
      `The tasks in ${places.tasks} cannot be changed: ${errorText(error)}`,
      'Nothing was changed. Make room, or make the folder writable, then try again.',
    )
  }
}

/** Outside of git the local state lies beside the tasks, and keeps itself out of a later repository. */
export function ignoreLocal({ shared, tasks }: Places): void {
  const path = join(shared, '.gitignore')
  if (shared.startsWith(tasks) && statOf(path) === undefined) writeFileSync(path, '*\n')
}
