import { closeSync } from 'node:fs'
import { firstOf } from '../base/first-of.ts'
import { isAtEnd, openPipe, PIPE_BYTES, widenPipe } from './libc.ts'

const LAST_LOOK_MS = 20

/** What a pipe is read from. */
interface Source {
  stream(): ReadableStream<Uint8Array>
  /** Whether nothing is in it, and nothing will be. */
  isAtEnd(): boolean
  release(): void
}

/** As the runtime types it. */
const readerOf = (stream: ReadableStream<Uint8Array>) => stream.getReader()
type Reader = ReturnType<typeof readerOf>

/** The reading end of an agent's stream. */
export class Pipe {
  readonly #source: Source
  /** Settles when it is listened to; undefined: at its end nothing had been said. */
  readonly #listening = Promise.withResolvers<Reader | undefined>()
  #reader: Reader | undefined
  #isWaiting = false
  #isEnded = false
  /** Bytes that may still be read once the agent's time is over; undefined before. */
  #allowance: number | undefined

  constructor(source: Source) {
    this.#source = source
  }

  /** Before it nothing is read. Whoever has gone without a word need not be listened to. */
  listen(): void {
    if (this.#reader !== undefined || this.#isEnded) return
    if (this.#source.isAtEnd()) this.#isEnded = true
    else this.#reader = readerOf(this.#source.stream())
    this.#listening.resolve(this.#reader)
  }

  /** The next bytes, or undefined at the end. */
  async read(): Promise<Uint8Array | undefined> {
    const reader = this.#reader ?? (await this.#listening.promise)
    if (reader === undefined) return undefined
    if (this.#allowance !== undefined && this.#allowance <= 0) return undefined
    const next = reader.read()
    if (this.#allowance !== undefined) {
      if ((await firstOf({ next, late: LAST_LOOK_MS })) === 'late') await reader.cancel()
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
    if (this.#isWaiting) await this.#reader?.cancel()
  }

  async close(): Promise<void> {
    if (!this.#isEnded) await this.#reader?.cancel().catch(() => undefined)
    this.#isEnded = true
    this.#listening.resolve(undefined)
    this.#source.release()
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
  if (ends === undefined) return runtimePlug()
  return {
    stdio: ends.write,
    releaseWriter: () => closeSync(ends.write),
    open: () =>
      new Pipe({
        stream: () => {
          widenPipe(ends.read)
          return Bun.file(ends.read).stream()
        },
        isAtEnd: () => isAtEnd(ends.read),
        release: () => closeSync(ends.read),
      }),
    discard: () => closeSync(ends.read),
  }
}

function runtimePlug(): Plug {
  return {
    stdio: 'pipe',
    releaseWriter: () => undefined,
    open: (stream) =>
      new Pipe({
        stream: () => stream as ReadableStream<Uint8Array>,
        isAtEnd: () => false,
        release: () => undefined,
      }),
    discard: () => undefined,
  }
}
