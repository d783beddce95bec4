import { closeSync, fsync, fsyncSync, openSync } from 'node:fs'

/** Quick iterations share a sync during this time. */
const PAUSE_MS = 1000
/** Writes may block during a sync, so pauses are this many times longer than the last sync. */
const PAUSE_SHARE = 25
const LONGEST_PAUSE_MS = 10_000

/**
 * Syncs files to disk in the background, so that frequent writes survive a power failure without
 * delaying the next agent.
 */
export class Syncer {
  #waiting = new Set<string>()
  /** Files that are being synced. */
  #syncing = new Set<string>()
  #isRunning = false
  #pause = PAUSE_MS

  /** Syncs the content of files and the entries of folders soon. */
  later(...paths: readonly string[]): void {
    for (const path of paths) this.#waiting.add(path)
    if (!this.#isRunning) void this.#work()
  }

  /** Returns when everything is synced. */
  finish(): void {
    for (const path of this.#syncing.union(this.#waiting)) syncNow(path)
    this.#waiting.clear()
  }

  async #work(): Promise<void> {
    this.#isRunning = true
    while (this.#waiting.size > 0) {
      await Bun.sleep(this.#pause)
      this.#syncing = this.#waiting
      this.#waiting = new Set()
      const began = performance.now()
      for (const path of this.#syncing) await syncFile(path)
      const due = (performance.now() - began) * PAUSE_SHARE
      this.#pause = Math.min(Math.max(due, PAUSE_MS), LONGEST_PAUSE_MS)
      this.#syncing = new Set()
    }
    this.#isRunning = false
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
    // Some file systems refuse to sync a folder and do not need it.
  } finally {
    closeSync(fd)
  }
}

/** Undefined if the file is gone, which then needs no sync. */
function openQuietly(path: string): number | undefined {
  try {
    return openSync(path, 'r')
  } catch {
    return undefined
  }
}
