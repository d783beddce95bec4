import { closeSync } from 'node:fs'
import { firstOf } from '../base/first-of.ts'
import { openPipe, PIPE_BYTES } from './libc.ts'

const LAST_LOOK_MS = 20

/** The reading end of an agent's stream. */
export class Pipe {
  readonly #reader
  readonly #release: () => void
  #isWaiting = false
  #isEnded = false
  /** Bytes that may still be read once the agent's time is over; undefined before. */
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
      if ((await firstOf({ next, late: LAST_LOOK_MS })) === 'late') await this.#reader.cancel()
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
   * Whoever else holds the pipe open has had time enough. From now on only what the pipe can hold is
   * read, so that a slow screen loses nothing and a chatty orphan gains nothing.
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

/** Two ends for one stream of a child: what to give to the spawn, and how to read from it. */
export interface Plug {
  readonly stdio: number | 'pipe'
  /** Call once the child is there, or could not be started. */
  releaseWriter(): void
  open(fromRuntime: unknown): Pipe
  /** Call instead of `open` where the child could not be started. */
  discard(): void
}

export function makePlug(): Plug {
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
