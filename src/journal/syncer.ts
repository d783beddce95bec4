import { closeSync, fsync, fsyncSync, openSync } from 'node:fs'

/** So long quick iterations may share a sync. */
const PAUSE_MS = 1000
/** Whoever writes to a file while it is synced may have to wait: on a slow disk that is to be rare. */
const PAUSE_SHARE = 25
const LONGEST_PAUSE_MS = 10_000

/**
 * Makes what was written survive a power failure, soon and without anybody waiting for it. What
 * happens often is handed over here: the next agent starts while the disk is at work.
 */
export class Syncer {
  #waiting = new Set<string>()
  /** What is being synced, and may be written to in the meantime. */
  #inHand = new Set<string>()
  #isAtWork = false
  #pause = PAUSE_MS

  /** Of a file, what is in it; of a folder, the names. */
  later(...paths: readonly string[]): void {
    for (const path of paths) this.#waiting.add(path)
    if (!this.#isAtWork) void this.#work()
  }

  /** Returns when all of it is safe. */
  finish(): void {
    for (const path of this.#inHand.union(this.#waiting)) syncNow(path)
    this.#waiting.clear()
  }

  async #work(): Promise<void> {
    this.#isAtWork = true
    while (this.#waiting.size > 0) {
      await Bun.sleep(this.#pause)
      this.#inHand = this.#waiting
      this.#waiting = new Set()
      const began = performance.now()
      for (const path of this.#inHand) await syncFile(path)
      const due = (performance.now() - began) * PAUSE_SHARE
      this.#pause = Math.min(Math.max(due, PAUSE_MS), LONGEST_PAUSE_MS)
      this.#inHand = new Set()
    }
    this.#isAtWork = false
  }
}

function syncFile(path: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const fd = openQuietly(path)
  if (fd === undefined) return Promise.resolve()
  fsync(fd, () => {
    closeSync(fd)
    resolve()
  })
  return promise
}

function syncNow(path: string): void {
  const fd = openQuietly(path)
  if (fd === undefined) return
  try {
    fsyncSync(fd)
  } catch {
    // Some file systems refuse to sync a folder, and need it not.
  } finally {
    closeSync(fd)
  }
}

/** What is gone need not be safe. */
function openQuietly(path: string): number | undefined {
  try {
    return openSync(path, 'r')
  } catch {
    return undefined
  }
}
