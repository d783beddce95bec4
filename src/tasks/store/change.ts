import { lstatSync, mkdirSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { unfinishedPath, writeNewFile } from '../../base/atomic-write.ts'
import { errorCode, errorText, UserError } from '../../base/errors.ts'
import { statOf } from '../../base/files.ts'
import { withLock } from '../../base/lock.ts'
import { applyMoves, recover, type Move } from './moves.ts'
import type { Places } from './places.ts'
import { readState, statePath, type State } from './state.ts'

/** A read-only folder, a full disk: nothing was changed. */
export class CannotWrite extends UserError {
  override readonly exitCode = 1
}

/** What a change is going to do. Nothing happens before `commit`, and then everything does. */
export class Draft {
  readonly #places: Places
  readonly #texts = new Map<string, string>()
  readonly #moves: Move[] = []
  readonly #removed: string[] = []
  #saved: State
  state: State

  constructor(places: Places) {
    this.#places = places
    this.#saved = this.state = readState(places)
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
    const beside: Move[] = []
    try {
      for (const [path, text] of this.#texts) beside.push(this.#writeBeside(path, text))
      if (this.state !== this.#saved) beside.push(this.#writeState())
    } catch (error) {
      for (const { from } of beside) rmSync(from, { force: true })
      throw error
    }
    const texts = beside.slice(0, this.#texts.size)
    applyMoves(this.#places, [...texts, ...this.#moves, ...beside.slice(this.#texts.size)])
    for (const path of this.#removed) rmSync(path, { force: true })
    this.#texts.clear()
    this.#moves.length = 0
    this.#saved = this.state
  }

  #writeState(): Move {
    const move = { from: unfinishedPath(this.#places.shared), to: statePath(this.#places) }
    writeNewFile(move.from, JSON.stringify(this.state), { durable: false })
    return move
  }

  /** A link stays a link, and a file keeps its permissions. */
  #writeBeside(path: string, text: string): Move {
    const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
    const to = isLink ? realpathSync(path) : path
    const from = unfinishedPath(this.#folderFor(to))
    writeNewFile(from, text, { durable: true, mode: statOf(to)?.mode })
    return { from, to }
  }

  /** Out of sight where the disk is the same, so that a crash leaves nothing among the tasks. */
  #folderFor(path: string): string {
    const folder = dirname(path)
    mkdirSync(folder, { recursive: true })
    const { shared } = this.#places
    return statSync(folder).dev === statSync(shared).dev ? shared : folder
  }
}

/** Runs a change while no other process changes this database, in any worktree of the clone. */
export function change<Result>(places: Places, work: (draft: Draft) => Result): Result {
  try {
    mkdirSync(places.shared, { recursive: true })
    ignoreLocal(places)
    return withLock(join(places.shared, 'lock'), () => {
      recover(places)
      const draft = new Draft(places)
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
