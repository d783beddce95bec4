import { fstatSync, type Stats } from 'node:fs'
import { writeAll } from '../base/files.ts'

export interface WriteProblem {
  /** The reader closed the stream. */
  readonly onClosed: (error: unknown) => void
  /** Output to a file was lost; called once. */
  readonly onLost: (error: unknown) => void
}

/**
 * Writes to a standard stream in order without blocking the process, so that signals are handled even while a
 * pager is paused. A returned promise asks the caller to wait before writing more.
 */
export class Writer {
  readonly #fd: number
  readonly #problem: WriteProblem
  readonly #sink: Bun.FileSink | undefined
  #isBroken = false
  #hasLost = false
  #pending: Promise<void> | undefined

  constructor(fd: 1 | 2, problem: WriteProblem) {
    this.#fd = fd
    this.#problem = problem
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

  /** Resolves when everything is written or given up. */
  async drain(): Promise<void> {
    await this.#pending
  }

  /** Writes to a file; a full disk does not end the run. */
  #writeNow(bytes: Uint8Array): void {
    try {
      writeAll(this.#fd, bytes)
    } catch (error) {
      if (this.#hasLost) return
      this.#hasLost = true
      this.#problem.onLost(error)
    }
  }

  #break(error: unknown): void {
    if (this.#isBroken) return
    this.#isBroken = true
    this.#problem.onClosed(error)
  }
}

// Non-blocking mode belongs to the open file description, which other processes share, so a pipe or terminal is
// reopened if possible.
function openSink(fd: 1 | 2, stat: Stats): Bun.FileSink | undefined {
  if (stat.isFile()) return undefined
  if (process.platform === 'linux' && (stat.isFIFO() || stat.isCharacterDevice())) {
    try {
      return Bun.file(`/proc/self/fd/${fd}`).writer()
    } catch {
      // The file belongs to another user, as after `su`.
    }
  }
  return fd === 1 ? Bun.stdout.writer() : Bun.stderr.writer()
}
