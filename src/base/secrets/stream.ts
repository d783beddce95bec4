import type { Finder } from './finder.ts'
import { charactersBefore, latin1, type Part } from './part.ts'

export interface MaskStream {
  /** The bytes that may be shown; the same Uint8Array where nothing changed. */
  push(bytes: Uint8Array): Uint8Array
  /** What was held back because it could have been the beginning of a secret. */
  end(): Uint8Array
}

/** So much of a long secret is skipped at once. */
const SLICE = 4096
const NOTHING = new Uint8Array(0)

export class SecretStream implements MaskStream {
  readonly #finder: Finder
  #held: Uint8Array = NOTHING
  /** The characters before what is held, or before the next chunk. */
  #before = ''
  /** Set while inside a secret that is masked already. */
  #tail: RegExp | undefined

  constructor(finder: Finder) {
    this.#finder = finder
  }

  push(bytes: Uint8Array): Uint8Array {
    return this.#take(bytes, false)
  }

  end(): Uint8Array {
    return this.last(NOTHING)
  }

  /** The same as `push` and `end`. */
  last(bytes: Uint8Array): Uint8Array {
    return this.#take(bytes, true)
  }

  #take(bytes: Uint8Array, isEnd: boolean): Uint8Array {
    const chunk = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes])
    const shown: Uint8Array[] = []
    const part = { bytes: chunk, before: this.#before, isEnd }
    const { done, hold } = this.#mask(part, shown)
    this.#before = charactersBefore(part, hold)
    this.#held = hold === chunk.length ? NOTHING : new Uint8Array(chunk.subarray(hold))
    if (done === 0 && hold === bytes.length && chunk === bytes) return bytes
    shown.push(chunk.subarray(done, hold))
    return shown.length === 1 ? shown[0]! : Buffer.concat(shown)
  }

  /** Says up to where all is in `shown`, and from where the rest has to be held back. */
  #mask(part: Part, shown: Uint8Array[]): { done: number; hold: number } {
    const { bytes, isEnd } = part
    let done = this.#skipTail(bytes, 0)
    let open = -1
    for (;;) {
      const found = this.#finder.next(part, done)
      if (open < done) open = isEnd ? bytes.length : this.#finder.firstOpen(part, done)
      if (found === undefined) return { done, hold: Math.max(done, open) }
      const start = typeof found === 'number' ? found : found.start
      if (typeof found === 'number' || open <= start) return { done, hold: Math.min(start, open) }
      shown.push(bytes.subarray(done, start), Buffer.from(found.mask))
      this.#tail = found.tail
      done = this.#skipTail(bytes, found.end)
    }
  }

  /** The end of the secret that is open at a place. */
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
