import {
  lstatSync,
  mkdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { moveFile, unfinishedPath, writeNewFile } from '../../base/atomic-write.ts'
import { errorCode, errorText, UserError } from '../../base/errors.ts'
import { formatSizes, statOf } from '../../base/files.ts'
import { Busy, withLock } from '../../base/linux/lock.ts'
import { checkoutOfFile } from './checkouts.ts'
import { stampOf } from './folder.ts'
import { pruneState } from './prune-state.ts'
import { makeLocal } from './local-folder.ts'
import { ForeignLink, isOwnFolder, refuseForeign } from './foreign-links.ts'
import { runMoves, discard, bringsContent, recover, type FailedMove } from './moves.ts'
import type { TaskFolders } from '../folders.ts'
import { Refused } from '../refused.ts'
import { readTaskText, TASK_LIMIT_BYTES } from './scan.ts'
import { CannotChange } from '../text/frontmatter.ts'
import { hasState, readLocalState, writeState } from './state.ts'
import type { Claim, FileMove, State } from './state-shape.ts'

class CannotWrite extends Refused {}

/** How far a change got before it failed. */
type Progress = 'nothing was changed' | 'a part was changed' | 'the rest waits'

/**
 * The writes and moves of one change. `commit` makes all of them or none: it writes the new contents to
 * temporary files, lists the moves in the state, then moves. After a crash the next process completes them.
 */
export class Draft {
  readonly #folders: TaskFolders
  readonly #texts = new Map<string, string>()
  readonly #links = new Map<string, string>()
  readonly #moves: FileMove[] = []
  readonly #removed: string[] = []
  #saved: State
  #progress: Progress = 'nothing was changed'
  state: State

  constructor(folders: TaskFolders, state: State) {
    this.#folders = folders
    this.#saved = this.state = state
  }

  get progress(): Progress {
    return this.#progress
  }

  get isEmpty(): boolean {
    const isSame = this.state === this.#saved
    return isSame && this.#texts.size + this.#links.size + this.#moves.length === 0
  }

  /** The text of a task file as this change leaves it. */
  read(path: string): string {
    return this.#texts.get(path) ?? readTaskText(path)
  }

  write(path: string, text: string): void {
    refuseForeign(path, checkoutOfFile(path, this.state, this.#folders))
    if (path.endsWith('.md')) refuseLarge(path, text)
    this.#texts.set(path, text)
  }

  move(from: string, to: string): void {
    refuseForeign(dirname(to), this.#folders)
    const target = relativeTarget(from)
    if (target === undefined) {
      this.#moves.push({ from, to, was: stampOf(statOf(to)) })
      return
    }
    this.#links.set(to, relative(realpathSync(dirname(to)), target))
    this.remove(from)
  }

  remove(path: string): void {
    const to = unfinishedPath(this.#folderFor(path))
    this.#removed.push(to)
    this.#moves.push({ from: path, to, was: null })
  }

  commit(): void {
    if (this.isEmpty) return
    if (this.state !== this.#saved)
      this.state = this.#withMainWorktree(pruneState(this.state, this.#folders))
    const [own, foreign] = this.#writeTemporaryFiles()
    own.push(...this.#moves)
    const moves = [...own, ...foreign]
    this.#begin(own, moves)
    const failed = runMoves(own.slice(1))
    if (failed.length > 0 && this.#rollBack(own, moves, failed)) throw failed[0]!.error
    // Moves in another checkout that cannot be written now stay listed for later.
    this.#end(moves, [...failed, ...runMoves(foreign)])
    for (const path of this.#removed.splice(0)) rmSync(path, { force: true })
    const [failure] = failed
    if (failure === undefined) return
    if (failed.some(({ move }) => bringsContent(move))) this.#progress = 'the rest waits'
    throw failure.error
  }

  /** Until the first move the change can be rolled back; after it, it will be completed. */
  #begin([first]: readonly FileMove[], moves: readonly FileMove[]): void {
    let isSaved = false
    try {
      this.#save({ ...this.state, moves: [...this.#pendingMoves(), ...moves] })
      isSaved = true
      if (first !== undefined) moveFile(first.from, first.to)
    } catch (error) {
      discard(moves)
      if (isSaved) this.#save(this.#saved)
      throw error
    }
    this.#progress = 'a part was changed'
  }

  /** Rolls back a change that failed halfway, if it has replaced no file. Returns whether it did. */
  #rollBack(
    own: readonly FileMove[],
    moves: readonly FileMove[],
    failed: readonly FailedMove[],
  ): boolean {
    if (own.some(({ was }) => was !== null)) return false
    const done = own.filter((each) => !failed.some(({ move }) => move === each))
    const back = done.toReversed().map(({ from, to }) => ({ from: to, to: from }))
    if (runMoves(back).length > 0) return false
    this.#save(this.#saved)
    discard(moves)
    this.#progress = 'nothing was changed'
    return true
  }

  /** Completed moves must not be repeated, because their source path may be reused. */
  #end(moves: readonly FileMove[], failed: readonly FailedMove[]): void {
    const waiting = failed.flatMap(({ move }) => (bringsContent(move) ? [move] : []))
    if (waiting.length > 0)
      this.state = { ...this.state, moves: [...this.#pendingMoves(), ...waiting] }
    if (moves.length > 0) this.#save(this.state)
    this.#texts.clear()
    this.#links.clear()
    this.#moves.length = 0
    this.#saved = this.state
  }

  #withMainWorktree(state: State): State {
    const { own, shared, top } = this.#folders
    return own === shared ? { ...state, main: top } : state
  }

  #pendingMoves(): readonly FileMove[] {
    return this.state.moves ?? []
  }

  #save(state: State): void {
    writeState(this.#folders, state)
  }

  /** Writes new contents to temporary files, for this checkout and for others. */
  #writeTemporaryFiles(): [own: FileMove[], foreign: FileMove[]] {
    const [own, foreign]: [FileMove[], FileMove[]] = [[], []]
    try {
      for (const [path, text] of this.#texts) {
        const isOwn = path.startsWith(join(this.#folders.tasks, '/'))
        ;(isOwn ? own : foreign).push(this.#writeText(path, text, isOwn))
      }
      for (const [path, target] of this.#links) own.push(this.#makeLink(path, target))
      return [own, foreign]
    } catch (error) {
      discard([...own, ...foreign])
      throw error
    }
  }

  /** Keeps symbolic links and file permissions. */
  #writeText(path: string, text: string, isOwn: boolean): FileMove {
    const old = lstatSync(path, { throwIfNoEntry: false })
    const to = old?.isSymbolicLink() ? realpathSync(path) : path
    const from = unfinishedPath(isOwn ? this.#folderFor(to) : this.#folders.shared)
    const target = to === path ? old : statOf(to)
    writeNewFile(from, text, { durable: true, mode: target?.mode })
    return { from, to, was: stampOf(target) }
  }

  #makeLink(path: string, target: string): FileMove {
    const from = unfinishedPath(this.#folderFor(path))
    symlinkSync(target, from)
    return { from, to: path, was: stampOf(statOf(path)) }
  }

  /** Outside the tasks if on the same disk, so that a crash leaves no files among them. */
  #folderFor(path: string): string {
    const { shared } = this.#folders
    const folder = dirname(path)
    const disk = statOf(folder)?.dev ?? makeFolder(folder)
    return disk === statOf(shared)?.dev ? shared : folder
  }
}

/** Refuses text that could not be read back. */
function refuseLarge(path: string, text: string): void {
  const size = Buffer.byteLength(text)
  if (size <= TASK_LIMIT_BYTES) return
  const [words, limit] = formatSizes(size, TASK_LIMIT_BYTES)
  throw new CannotChange(
    `${basename(path)} would be ${words}; the limit is ${limit}. Nothing was changed.`,
    'Put the text in a project file and refer to it in the task.',
  )
}

/** The absolute target of a relative link, which would break in another folder. */
function relativeTarget(path: string): string | undefined {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return undefined
  const target = readlinkSync(path)
  return isAbsolute(target) ? undefined : resolve(realpathSync(dirname(path)), target)
}

function makeFolder(path: string): number {
  mkdirSync(path, { recursive: true })
  return statSync(path).dev
}

/** Runs a change under the lock that all worktrees of the clone share. */
export function change<Result>(
  folders: TaskFolders,
  work: (draft: Draft) => Result,
  patienceMs?: number,
): Result {
  let draft: Draft | undefined
  refuseForeign(folders.tasks, folders)
  try {
    refuseLinked(folders)
    // The folder for the lock would make any folder a project, so a change that fails must not create it.
    if (statOf(folders.shared) === undefined && !hasState(folders)) {
      const rehearsal = new Draft(folders, readLocalState(folders))
      const result = work(rehearsal)
      if (rehearsal.isEmpty) return result
    }
    makeLocal(folders.shared, folders)
    const locked = () => {
      draft = new Draft(folders, recoverState(folders))
      draft.state = clampLeases(draft.state, Date.now())
      const result = work(draft)
      draft.commit()
      return result
    }
    return withLock(join(folders.shared, 'lock'), locked, patienceMs)
  } catch (error) {
    if (errorCode(error) === undefined || error instanceof UserError) throw error
    throw cannotWrite(folders, error, draft?.progress)
  }
}

/** Limits each claim to its lease from now, in case the clock was set back. */
function clampLeases(state: State, now: number): State {
  const isAhead = ({ until, leaseMs = Infinity }: Claim) =>
    until !== undefined && Date.parse(until) > now + leaseMs
  if (!Object.values(state.claims).some(isAhead)) return state
  const claims = Object.entries(state.claims).map(([id, claim]) => {
    if (!isAhead(claim)) return [id, claim] as const
    return [id, { ...claim, until: new Date(now + claim.leaseMs!).toISOString() }] as const
  })
  return { ...state, claims: Object.fromEntries(claims) }
}

/**
 * For commands that only read: gives up if another process holds the lock or the folder cannot be written.
 * Returns whether the change was made.
 */
export function tryToChange(folders: TaskFolders, work: (draft: Draft) => void): boolean {
  try {
    change(folders, work, 0)
    return true
  } catch (error) {
    const isLeftAlone =
      error instanceof CannotWrite || error instanceof Busy || error instanceof ForeignLink
    if (!isLeftAlone) throw error
    return false
  }
}

/** forge-tasks never makes a link for its local state, so a link came with the project. */
function refuseLinked(folders: TaskFolders): void {
  if (isOwnFolder(folders.shared, folders)) return
  throw new ForeignLink(
    `${folders.shared} is a symbolic link; forge-tasks does not write through it.`,
    'Delete it: forge-tasks creates a folder instead.',
  )
}

function recoverState(folders: TaskFolders): State {
  const state = readLocalState(folders)
  const recovered = { ...state, moves: recover(folders, state) }
  if (recovered.moves.length < (state.moves ?? []).length) writeState(folders, recovered)
  return recovered
}

const REMEDIES: Readonly<Record<string, string>> = {
  ENOTDIR: 'Rename the file that is in place of the folder',
  EEXIST: 'Rename the file that is in place of the folder',
  EACCES: 'Give this user write permission',
  EPERM: 'Give this user write permission',
  EROFS: 'Make the disk writable',
  ENOSPC: 'Free disk space',
  EDQUOT: 'Free disk space',
}

function cannotWrite({ tasks }: TaskFolders, error: unknown, progress?: Progress): CannotWrite {
  const remedy = REMEDIES[errorCode(error) ?? ''] ?? 'Free disk space or make the folder writable'
  const message = `Cannot change the tasks in ${tasks}: ${errorText(error)}`
  switch (progress) {
    case 'a part was changed':
      return new CannotWrite(message, `Some files were changed. ${remedy}, then retry.`)
    case 'the rest waits':
      return new CannotWrite(
        message,
        `Some files were changed. ${remedy}; the next command completes the rest.`,
      )
    default:
      return new CannotWrite(message, `Nothing was changed. ${remedy}, then retry.`)
  }
}
