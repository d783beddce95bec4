import { closeSync, constants, fstatSync, openSync, watch, writeSync } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { statOf } from '../../base/files.ts'

/**
 * A file of one byte beside the store, written after each commit and watched by those who wait. The
 * log itself will not do: it is written before what it holds can be read.
 */
export class Bell {
  readonly #path: string
  #fd: number | undefined
  /** The file that is listened to. */
  #heard: number | undefined

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
      const fd = openSync(this.#path, constants.O_RDWR | constants.O_CREAT, 0o600)
      this.#heard = fstatSync(fd).ino
      closeSync(fd)
      const watcher = watch(this.#path, { persistent: false }, onRing)
      watcher.on('error', onBroken)
      return watcher
    } catch {
      return undefined
    }
  }

  /** Whether another file is rung by now. */
  get isReplaced(): boolean {
    return statOf(this.#path)?.ino !== this.#heard
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }
}
