import { closeSync } from 'node:fs'
import { firstCause } from '../../base/first-cause.ts'
import { openPipe, PIPE_BYTES } from '../../base/linux/children.ts'

const LAST_LOOK_MS = 20

/** The reading end of an agent's stream. */
export class Pipe {
  readonly #reader
  readonly #release: () => void
  #isWaiting = false
  #isEnded = false
  /** Bytes that may still be read after `finish`; undefined before. */
  #allowance: number | undefined

  constructor(stream: ReadableStream<Uint8Array>, release: () => void) {
    this.#reader = stream.getReader()
    this.#release = release
  }

  /** The next bytes, or undefined at the end. */
  async read(): Promise<Uint8Array | undefined> {
    if (this.#allowance !== undefined && this.#allowance <= 0) return undefined
    const next = this.#reader.read()
    if (this.#allowance !== undefined) {
      if ((await firstCause({ next, late: LAST_LOOK_MS })) === 'late') await this.#reader.cancel()
    }
    this.#isWaiting = true
    const { value, done } = await next
    this.#isWaiting = false
    this.#isEnded = done
    if (done) return undefined
    if (this.#allowance !== undefined) this.#allowance -= value.length
    return value
  }

  /**
   * From now on, reads at most what the pipe can hold: a slow terminal loses nothing, and an orphan that keeps
   * the pipe open cannot write forever.
   */
  async finish(): Promise<void> {
    this.#allowance = 2 * PIPE_BYTES
    if (this.#isWaiting) await this.#reader.cancel()
  }

  async close(): Promise<void> {
    if (!this.#isEnded) await this.#reader.cancel().catch(() => undefined)
    this.#release()
  }
}

/** A pipe for one stream of a child: the end for `spawn`, and a way to read the other end. */
export interface ChildPipe {
  readonly stdio: number | 'pipe'
  /** Call after the start, even if it failed. */
  releaseWriter(): void
  open(fromRuntime: unknown): Pipe
  /** Call instead of `open` if the child could not be started. */
  discard(): void
}

export function openChildPipe(): ChildPipe {
  const ends = openPipe()
  if (ends === undefined) {
    return {
      stdio: 'pipe',
      releaseWriter: () => undefined,
      open: (stream) => new Pipe(stream as ReadableStream<Uint8Array>, () => undefined),
      discard: () => undefined,
    }
  }
  return {
    stdio: ends.write,
    releaseWriter: () => closeSync(ends.write),
    open: () => new Pipe(Bun.file(ends.read).stream(), () => closeSync(ends.read)),
    discard: () => closeSync(ends.read),
  }
}
