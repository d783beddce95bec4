import { lstatSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { UNFINISHED, writeFileAtomic } from '../../base/atomic-write.ts'
import { statOf } from '../../base/files.ts'
import type { Places } from './places.ts'

/** A file that takes the place of another, or leaves its own. */
export interface Move {
  readonly from: string
  readonly to: string
}

/** Makes all moves: a list says what belongs where, so that a crash in between can be made good. */
export function applyMoves(places: Places, moves: readonly Move[]): void {
  const [first, ...others] = moves
  if (first === undefined) return
  const list = others.length === 0 ? undefined : listPath(places)
  try {
    if (list !== undefined) writeFileAtomic(list, JSON.stringify(moves), { durable: false })
    renameSync(first.from, first.to)
  } catch (error) {
    // As long as nothing has happened, nothing need ever happen.
    if (list !== undefined) rmSync(list, { force: true })
    for (const { from } of moves) if (isUnfinished(from)) rmSync(from, { force: true })
    throw error
  }
  for (const { from, to } of others) renameSync(from, to)
  if (list !== undefined) rmSync(list)
}

function isUnfinished(path: string): boolean {
  return basename(path).startsWith(UNFINISHED)
}

/** Ends what a writer that was killed had begun, and clears away what it left. */
export function recover(places: Places): void {
  finishMoves(listPath(places))
  clearUnfinished(places)
}

function finishMoves(list: string): void {
  let text: string
  try {
    text = readFileSync(list, 'utf8')
  } catch {
    return
  }
  for (const { from, to } of JSON.parse(text) as Move[]) {
    if (lstatSync(from, { throwIfNoEntry: false }) === undefined) continue
    // A worktree may have been removed in the meantime.
    if (statOf(dirname(to)) !== undefined) renameSync(from, to)
  }
  rmSync(list)
}

/** Only the holder of the lock writes, so what is unfinished belongs to the dead. */
function clearUnfinished({ shared, tasks }: Places): void {
  const isOtherDisk = statOf(tasks)?.dev !== statOf(shared)?.dev
  for (const folder of isOtherDisk ? [shared, tasks] : [shared]) {
    for (const name of listUnfinished(folder)) rmSync(join(folder, name), { force: true })
  }
}

export function listUnfinished(folder: string): string[] {
  try {
    return readdirSync(folder).filter(isUnfinished)
  } catch {
    return []
  }
}

function listPath(places: Places): string {
  return join(places.shared, 'moves.json')
}
