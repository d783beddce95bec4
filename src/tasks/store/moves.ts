import { lstatSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { moveFile, UNFINISHED } from '../../base/atomic-write.ts'
import { errorCode } from '../../base/errors.ts'
import { statOf } from '../../base/files.ts'
import { checkoutOfFile } from './checkouts.ts'
import { listNames } from './folder.ts'
import { isForeign } from './links.ts'
import type { Places } from './places.ts'
import type { Move, Print, State } from './state.ts'

/** The index is written without the lock: its unfinished files are told apart by this. */
export const UNFINISHED_INDEX = '.index-'

/** To write an index takes no longer, by far. */
const INDEX_MS = 60_000

/**
 * Ends what a writer that was killed had begun, and clears away what it left. Gives what cannot be
 * done now.
 */
export function recover(places: Places, state: State): readonly Move[] {
  const staysInside = ({ to }: Move) => !isForeign(dirname(to), checkoutOfFile(to, state, places))
  const begun = (state.moves ?? []).filter((move) => isStillDue(move) && staysInside(move))
  const waiting = carryOut(begun).flatMap(({ move }) => (isContent(move) ? [move] : []))
  clearUnfinished(places, waiting)
  return waiting
}

/**
 * Whether a writer may have been killed. The last change leaves at most one move in the state, which is
 * done: so this costs no more than one look at the disk.
 */
export function mayBeDue(moves: readonly Move[]): boolean {
  const first = moves[0]
  if (first === undefined) return false
  return moves.length > 1 || lstatSync(first.from, { throwIfNoEntry: false }) !== undefined
}

/** What a person, or git, has written there since must not be lost. */
function isStillDue({ from, to, was }: Move): boolean {
  const source = lstatSync(from, { throwIfNoEntry: false })
  // A worktree may have been removed in the meantime.
  if (source === undefined || statOf(dirname(to)) === undefined) return false
  const target = statOf(to)
  if (was !== undefined) return Bun.deepEquals(printOf(target), was)
  return !isUnfinished(from) || (target?.mtimeMs ?? 0) <= source.mtimeMs
}

/** Clocks go backwards, so that a time alone says nothing. */
export function printOf(stat: Print | undefined): Print | null {
  if (stat === undefined) return null
  const { mtimeMs, size, ino } = stat
  return { mtimeMs, size, ino }
}

export interface Failure {
  readonly move: Move
  readonly error: unknown
}

/** One that cannot be done does not hold up the others. */
export function carryOut(moves: readonly Move[]): Failure[] {
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

/** Whether it brings a new content, which would be lost; what only changes its place can stay there. */
export function isContent({ from }: Move): boolean {
  return isUnfinished(from)
}

function isUnfinished(path: string): boolean {
  return basename(path).startsWith(UNFINISHED)
}

/** Forgets what was to be written. */
export function discard(moves: readonly Move[]): void {
  for (const move of moves) if (isContent(move)) rmSync(move.from, { force: true })
}

/** Only the holder of the lock writes these, so what does not wait belongs to the dead. */
function clearUnfinished({ shared, own, tasks }: Places, waiting: readonly Move[]): void {
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
