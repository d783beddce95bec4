import { fstatSync, type Stats } from 'node:fs'
import { writeAll } from '../base/files.ts'

/** What may go wrong with a stream. */
export interface Trouble {
  /** Nobody will ever read it. */
  readonly onClosed: (error: unknown) => void
  /** Something is missing in the file behind it; told once. */
  readonly onLost: (error: unknown) => void
}

/**
 * Writes to a standard stream in order and without blocking the process: a paused pager must not
 * keep a signal from being obeyed. A promise asks the caller to wait for room.
 */
export class Writer {
  readonly #fd: number
  readonly #trouble: Trouble
  readonly #sink: Bun.FileSink | undefined
  #isBroken = false
  #hasLost = false
  #pending: Promise<void> | undefined

  constructor(fd: 1 | 2, trouble: Trouble) {
    this.#fd = fd
    this.#trouble = trouble
    this.#sink = openSink(fd, fstatSync(fd))
  }

  write(bytes: Uint8Array): void | Promise<void> {
    if (this.#isBroken || bytes.length === 0) return
    try {
      if (this.#sink === undefined) return this.#writeNow(bytes)
      const waits = [this.#sink.write(bytes), this.#sink.flush()].filter(
        (wait) => wait instanceof Promise,
      )
      if (waits.length === 0) return
      this.#pending = Promise.all(waits).then(
        () => undefined,
        (error: unknown) => this.#break(error),
      )
      return this.#pending
    } catch (error) {
      this.#break(error)
    }
  }

  /** Settles when everything has been taken, or given up. */
  async drain(): Promise<void> {
    await this.#pending
  }

  /** To a file. A full disk is no reason to end the work: there may be room again later. */
  #writeNow(bytes: Uint8Array): void {
    try {
      writeAll(this.#fd, bytes)
    } catch (error) {
      if (this.#hasLost) return
      this.#hasLost = true
      this.#trouble.onLost(error)
    }
  }

  #break(error: unknown): void {
    if (this.#isBroken) return
    this.#isBroken = true
    this.#trouble.onClosed(error)
  }
}

// Writing without blocking is a property of the open file, which other processes share. So a pipe or
// a terminal is opened a second time; where that is not possible the shared one has to do.
function openSink(fd: 1 | 2, stat: Stats): Bun.FileSink | undefined {
  if (stat.isFile()) return undefined
  if (process.platform === 'linux' && (stat.isFIFO() || stat.isCharacterDevice())) {
    try {
      return Bun.file(`/proc/self/fd/${fd}`).writer()
    } catch {
      // It belongs to another user, as after `su`.
    }
  }
  return fd === 1 ? Bun.stdout.writer() : Bun.stderr.writer()
}
