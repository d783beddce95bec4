import { rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { moveFile, UNFINISHED } from '../../base/atomic-write.ts'
import { errorCode } from '../../base/errors.ts'
import { listNames, lstatOf, statOf } from '../../base/files.ts'
import { checkoutOfFile } from './checkouts.ts'
import { stampOf } from './folder.ts'
import { isForeign } from './foreign-links.ts'
import type { TaskFolders } from '../folders.ts'
import type { FileMove, State } from './state-shape.ts'

/** Marks temporary files of the index, which is written without the lock. */
export const UNFINISHED_INDEX = '.index-'

/** Far longer than writing an index takes. */
const INDEX_MS = 60_000

/** Completes the moves of a killed writer and deletes its leftovers. Returns the moves that failed. */
export function recover(folders: TaskFolders, state: State): readonly FileMove[] {
  const staysInside = ({ to }: FileMove) =>
    !isForeign(dirname(to), checkoutOfFile(to, state, folders))
  const begun = (state.moves ?? []).filter((move) => isStillDue(move) && staysInside(move))
  const waiting = runMoves(begun).flatMap(({ move }) => (bringsContent(move) ? [move] : []))
  clearUnfinished(folders, waiting)
  return waiting
}

/** False if the target has changed since, because that content must not be lost. */
function isStillDue({ from, to, was }: FileMove): boolean {
  const source = lstatOf(from)
  // The worktree may have been removed.
  if (source === undefined || statOf(dirname(to)) === undefined) return false
  const target = statOf(to)
  if (was !== undefined) return Bun.deepEquals(stampOf(target), was)
  return !isUnfinished(from) || (target?.mtimeMs ?? 0) <= source.mtimeMs
}

export interface FailedMove {
  readonly move: FileMove
  readonly error: unknown
}

/** Continues after a move that fails. */
export function runMoves(moves: readonly FileMove[]): FailedMove[] {
  return moves.flatMap((move) => {
    try {
      moveFile(move.from, move.to)
      return []
    } catch (error) {
      if (errorCode(error) === undefined) throw error
      return [{ move, error }]
    }
  })
}

/** Whether the move brings new content, which would be lost without it. */
export function bringsContent({ from }: FileMove): boolean {
  return isUnfinished(from)
}

function isUnfinished(path: string): boolean {
  return basename(path).startsWith(UNFINISHED)
}

/** Deletes the temporary files. */
export function discard(moves: readonly FileMove[]): void {
  for (const move of moves) if (bringsContent(move)) rmSync(move.from, { force: true })
}

/** Only the holder of the lock writes these files, so all others were left by killed writers. */
function clearUnfinished({ shared, own, tasks }: TaskFolders, waiting: readonly FileMove[]): void {
  const kept = new Set(waiting.map(({ from }) => from))
  const isOtherDisk = statOf(tasks)?.dev !== statOf(shared)?.dev
  for (const folder of isOtherDisk ? [shared, tasks] : [shared]) {
    for (const name of listUnfinished(folder)) {
      const path = join(folder, name)
      if (!kept.has(path)) rmSync(path, { force: true })
    }
  }
  clearIndexes(own)
}

function clearIndexes(folder: string): void {
  for (const name of listNames(folder)) {
    if (!name.startsWith(UNFINISHED_INDEX)) continue
    const path = join(folder, name)
    const isDead = (statOf(path)?.mtimeMs ?? 0) < Date.now() - INDEX_MS
    if (isDead) rmSync(path, { force: true })
  }
}

export function listUnfinished(folder: string): string[] {
  return listNames(folder).filter(isUnfinished)
}
