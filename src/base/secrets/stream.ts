import type { Finder } from './finder.ts'
import { charactersBefore, latin1, type Part } from './part.ts'
import { asTheyAre, mayHaveUnseen, withoutUnseen, type Seen } from './unseen.ts'

export interface MaskStream {
  /** The bytes that may be shown; the same Uint8Array if nothing changed. */
  push(bytes: Uint8Array): Uint8Array
  /** The bytes that were held back as the possible beginning of a secret. */
  end(): Uint8Array
}

/** How many bytes of a long secret are skipped at once. */
const SLICE = 4096
const NOTHING = new Uint8Array(0)

/**
 * Looks for secrets twice: in the bytes as they are, and in what a terminal makes of them. The first
 * finds those inside of control sequences, the second those that are interrupted by some.
 */
export class SecretStream implements MaskStream {
  readonly #plain: OneStream
  readonly #seen: OneStream

  constructor(finder: Finder) {
    this.#plain = new OneStream(finder, asTheyAre)
    this.#seen = new OneStream(finder, withoutUnseen)
  }

  push(bytes: Uint8Array): Uint8Array {
    return this.#seen.takeSeen(this.#plain.take(bytes, false), false)
  }

  end(): Uint8Array {
    return this.last(NOTHING)
  }

  /** `push` and `end` in one call. */
  last(bytes: Uint8Array): Uint8Array {
    return this.#seen.takeSeen(this.#plain.take(bytes, true), true)
  }
}

class OneStream {
  readonly #finder: Finder
  readonly #look: (bytes: Uint8Array, isEnd: boolean) => Seen
  #held: Uint8Array = NOTHING
  /** The characters before what is held, or before the next chunk. */
  #before = ''
  /** Set inside of a secret whose mask has been written. */
  #tail: RegExp | undefined

  constructor(finder: Finder, look: (bytes: Uint8Array, isEnd: boolean) => Seen) {
    this.#finder = finder
    this.#look = look
  }

  /** Most bytes are seen as they are, and were searched already. */
  takeSeen(bytes: Uint8Array, isEnd: boolean): Uint8Array {
    if (this.#held.length > 0 || this.#tail !== undefined || mayHaveUnseen(bytes))
      return this.take(bytes, isEnd)
    this.#before = charactersBefore({ bytes, before: this.#before, isEnd }, bytes.length)
    return bytes
  }

  take(bytes: Uint8Array, isEnd: boolean): Uint8Array {
    const chunk = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes])
    const shown: Uint8Array[] = []
    const seen = this.#look(chunk, isEnd)
    const part = { bytes: seen.bytes, before: this.#before, isEnd }
    const { done, hold } = this.#mask(part, seen, shown)
    this.#before = charactersBefore(part, hold)
    const held = seen.rest(hold)
    this.#held = held.length === 0 ? NOTHING : new Uint8Array(held)
    if (done === 0 && held.length === 0 && chunk === bytes) return bytes
    shown.push(seen.raw(done, hold))
    return shown.length === 1 ? shown[0]! : Buffer.concat(shown)
  }

  /** Appends to `shown` up to `done`; the bytes from `hold` on must be held back. */
  #mask(part: Part, seen: Seen, shown: Uint8Array[]): { done: number; hold: number } {
    const { bytes, isEnd } = part
    let done = this.#skipTail(bytes, 0)
    if (done > 0) shown.push(seen.raw(0, 0), seen.unseen(0, done))
    let open = -1
    for (;;) {
      const found = this.#finder.next(part, done)
      if (open < done) open = isEnd ? bytes.length : this.#finder.firstOpen(part, done)
      if (found === undefined) return { done, hold: Math.max(done, open) }
      const start = typeof found === 'number' ? found : found.start
      if (typeof found === 'number' || open <= start) return { done, hold: Math.min(start, open) }
      shown.push(seen.raw(done, start), Buffer.from(found.mask))
      this.#tail = found.tail
      done = this.#skipTail(bytes, found.end)
      // Colours that end inside of it would otherwise go on.
      shown.push(seen.unseen(start, done))
    }
  }

  /** The end of the secret that continues at `from`. */
  #skipTail(chunk: Uint8Array, from: number): number {
    let at = from
    while (this.#tail !== undefined && at < chunk.length) {
      const text = latin1(chunk, at, Math.min(chunk.length, at + SLICE))
      this.#tail.lastIndex = 0
      this.#tail.test(text)
      at += this.#tail.lastIndex
      if (this.#tail.lastIndex < text.length) this.#tail = undefined
    }
    return at
  }
}
