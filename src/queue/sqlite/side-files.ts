import { closeSync, constants, existsSync, openSync, renameSync, writeSync } from 'node:fs'
import { lstatOf } from '../../base/files.ts'

const { O_WRONLY, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants

/** Does not follow a link, which could lead to any file, and does not block on a FIFO. */
export const SAFE_FLAGS = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK

/** The file whose size is the number of acknowledged rows of the history. */
function countFile(place: string): string {
  return `${place}.count`
}

/** The minimum number of rows in the history; 0 if unknown. */
export function acknowledgedIn(place: string): number {
  const stats = lstatOf(countFile(place))
  return stats?.isFile() === true ? stats.size : 0
}

/**
 * Counts acknowledged rows of the history outside of SQLite, which does not notice a write-ahead log that
 * was deleted or damaged. Any number of processes can extend a file without a lock, and none shortens it.
 */
export class HistoryCount {
  readonly #path: string
  #fd: number | undefined
  #rows = 0

  constructor(place: string) {
    this.#path = countFile(place)
  }

  /** Returns whether this is more than this process has recorded before. */
  raise(rows: number): boolean {
    if (rows <= this.#rows) return false
    this.#rows = rows
    try {
      this.#fd ??= openSync(this.#path, SAFE_FLAGS, 0o600)
      writeSync(this.#fd, '.', rows - 1)
    } catch {
      // On a full disk the count stays too low.
    }
    return true
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }
}

/** Renames a store and its side files, so that a new one can be created; returns its new path, if it existed. */
export function setAside(place: string): string | undefined {
  let number = 1
  while (existsSync(`${place}.damaged-${number}`)) number += 1
  const kept = `${place}.damaged-${number}`
  const moves = [
    [`${place}-wal`, `${kept}-wal`],
    [`${place}-shm`, `${kept}-shm`],
    [countFile(place), countFile(kept)],
    // Last, so that after an interruption the next call uses the same number.
    [place, kept],
  ] as const
  const there = moves.filter(([from]) => existsSync(from))
  for (const [from, to] of there) renameSync(from, to)
  return there.length === 0 ? undefined : kept
}
