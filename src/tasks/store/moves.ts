import { lstatSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { UNFINISHED } from '../../base/atomic-write.ts'
import { statOf } from '../../base/files.ts'
import type { Places } from './places.ts'
import type { Move, State } from './state.ts'

/** Ends what a writer that was killed had begun, and clears away what it left. */
export function recover(places: Places, { moves = [] }: State): void {
  for (const { from, to } of moves) {
    if (lstatSync(from, { throwIfNoEntry: false }) === undefined) continue
    // A worktree may have been removed in the meantime.
    if (statOf(dirname(to)) !== undefined) renameSync(from, to)
  }
  clearUnfinished(places)
}

function isUnfinished(path: string): boolean {
  return basename(path).startsWith(UNFINISHED)
}

/** Forgets what was to be written. */
export function discard(moves: readonly Move[]): void {
  for (const { from } of moves) if (isUnfinished(from)) rmSync(from, { force: true })
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
