import { closeSync, constants, openSync, writeSync } from 'node:fs'
import { lstatOf } from '../../base/files.ts'

const { O_WRONLY, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants
// Through a link it could change a file anywhere, and a FIFO in its place would be waited for.
const FLAGS = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK

/** The file that remembers how much of a store's history was acknowledged. */
export function countFile(place: string): string {
  return `${place}.count`
}

/** How many lines of the history were acknowledged at least; 0 where nobody knows. */
export function acknowledgedIn(place: string): number {
  const stats = lstatOf(countFile(place))
  return stats?.isFile() === true ? stats.size : 0
}

/**
 * Counts acknowledged lines of the history outside of SQLite: a write-ahead log that is deleted or
 * damaged takes its commits with it without a trace. The count is the length of a file, which any
 * number of processes can raise without a lock, and none can lower.
 */
export class HistoryCount {
  readonly #path: string
  #fd: number | undefined

  constructor(place: string) {
    this.#path = countFile(place)
  }

  raise(lines: number): void {
    try {
      this.#fd ??= openSync(this.#path, FLAGS, 0o600)
      writeSync(this.#fd, '.', lines - 1)
    } catch {
      // On a full disk it stays lower than it could be.
    }
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }
}
