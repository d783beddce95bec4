import { closeSync, constants, fstatSync, openSync, watch, writeSync } from 'node:fs'
import { statOf } from '../../base/files.ts'

export interface Listening {
  close(): void
}

/** Also reports the deletion of the file, even if others still have it open. */
export function watchFile(path: string, onChange: () => void, onBroken: () => void): Listening {
  const watcher = watch(path, { persistent: false }, onChange)
  watcher.on('error', onBroken)
  return watcher
}

const FLAGS = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW

/**
 * A one-byte file next to the store, written after each commit and watched by waiting processes. The
 * WAL cannot be watched instead: it is written before its content can be read.
 */
export class Notifier {
  readonly #path: string
  #fd: number | undefined
  /** Inode of the watched file. */
  #heard: number | undefined

  constructor(path: string) {
    this.#path = path
  }

  notify(): void {
    try {
      this.#fd ??= openSync(this.#path, FLAGS, 0o600)
      writeSync(this.#fd, '.', 0)
    } catch {
      // On a full disk nothing is signalled; waiting processes also poll now and then.
    }
  }

  /** Undefined if the system has no more watches. */
  listen(onRing: () => void, onBroken: () => void): Listening | undefined {
    try {
      const fd = openSync(this.#path, FLAGS, 0o600)
      this.#heard = fstatSync(fd).ino
      closeSync(fd)
      return watchFile(this.#path, onRing, onBroken)
    } catch {
      return undefined
    }
  }

  /** Whether the file was replaced. */
  get isReplaced(): boolean {
    return statOf(this.#path)?.ino !== this.#heard
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }
}
