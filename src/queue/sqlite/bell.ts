import { closeSync, constants, openSync, watch, writeSync } from 'node:fs'
import type { FSWatcher } from 'node:fs'

/**
 * A file of one byte beside the store, written after each commit and watched by those who wait. The
 * log itself will not do: it is written before what it holds can be read.
 */
export class Bell {
  readonly #path: string
  #fd: number | undefined

  constructor(path: string) {
    this.#path = path
  }

  ring(): void {
    try {
      this.#fd ??= openSync(this.#path, constants.O_RDWR | constants.O_CREAT, 0o600)
      writeSync(this.#fd, '.', 0)
    } catch {
      // On a full disk nobody is woken; those who wait look by themselves now and then.
    }
  }

  /** Undefined where the system has no more watches to give. */
  listen(onRing: () => void, onBroken: () => void): FSWatcher | undefined {
    try {
      closeSync(openSync(this.#path, constants.O_RDWR | constants.O_CREAT, 0o600))
      const watcher = watch(this.#path, { persistent: false }, onRing)
      watcher.on('error', onBroken)
      return watcher
    } catch {
      return undefined
    }
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }
}
