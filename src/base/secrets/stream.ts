import type { Finder } from './finder.ts'
import { mayHaveInvisible, invisibleIn, withoutInvisible, type VisibleText } from './invisible.ts'

export interface MaskStream {
  /** The bytes that may be shown; the same Uint8Array if nothing changed. */
  push(bytes: Uint8Array): Uint8Array
  /** The bytes that were held back as the possible beginning of a secret. */
  end(): Uint8Array
}

/** How many characters before a secret decide whether it is one. */
const CONTEXT = 3
const NOTHING = new Uint8Array(0)

/**
 * Looks for secrets twice: in the bytes as they are, and in what a terminal makes of them. The first
 * finds those inside of control sequences, the second those that are interrupted by some.
 */
export class SecretStream implements MaskStream {
  readonly #plain: SearchPass
  readonly #visible: SearchPass

  constructor(finder: Finder) {
    this.#plain = new SearchPass(finder, false)
    this.#visible = new SearchPass(finder, true)
  }

  push(bytes: Uint8Array): Uint8Array {
    return this.#take(bytes, false)
  }

  end(): Uint8Array {
    return this.last(NOTHING)
  }

  /** `push` and `end` in one call. */
  last(bytes: Uint8Array): Uint8Array {
    return this.#take(bytes, true)
  }

  #take(bytes: Uint8Array, isEnd: boolean): Uint8Array {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
    const shown = this.#visible.take(this.#plain.take(text, isEnd), isEnd)
    return shown === text ? bytes : Buffer.from(shown, 'latin1')
  }
}

class SearchPass {
  readonly #finder: Finder
  readonly #ignoresInvisible: boolean
  #held = ''
  /** The characters before what is held, or before the next chunk. */
  #before = ''
  /** Set inside a secret whose mask has been written. */
  #tail: RegExp | undefined

  constructor(finder: Finder, ignoresInvisible: boolean) {
    this.#finder = finder
    this.#ignoresInvisible = ignoresInvisible
  }

  take(chunk: string, isEnd: boolean): string {
    const isIdle = this.#held === '' && this.#tail === undefined
    if (this.#ignoresInvisible && isIdle && !mayHaveInvisible(chunk)) {
      // Already searched as it is.
      this.#before = (this.#before + chunk.slice(-CONTEXT)).slice(-CONTEXT)
      return chunk
    }
    const raw = this.#held + chunk
    const seen = this.#look(raw, isEnd)
    const text = this.#before + seen.text
    const { length } = this.#before
    let shown = ''
    let done = 0
    const upTo = (at: number) => {
      const from = done
      done = seen.place(at - length)
      return raw.slice(from, done)
    }
    // Otherwise a colour reset inside the secret would be lost.
    const hide = (to: number) => {
      const hidden = upTo(to)
      return this.#ignoresInvisible ? invisibleIn(hidden) : ''
    }
    let at = this.#skipTail(text, length)
    if (at > length) shown += hide(at)
    for (;;) {
      const found = this.#finder.next(text, at, isEnd)
      if (typeof found === 'number') {
        shown += upTo(found)
        this.#before = text.slice(Math.max(0, found - CONTEXT), found)
        this.#held = raw.slice(done)
        return shown
      }
      at = found.end
      shown += upTo(found.start) + found.mask + hide(at)
      if (at === text.length) this.#tail = found.tail
    }
  }

  #look(raw: string, isEnd: boolean): VisibleText {
    return this.#ignoresInvisible ? withoutInvisible(raw, isEnd) : { text: raw, place: (at) => at }
  }

  /** The end of the secret that continues at `from`. */
  #skipTail(text: string, from: number): number {
    if (this.#tail === undefined || from === text.length) return from
    this.#tail.lastIndex = from
    this.#tail.test(text)
    const end = this.#tail.lastIndex
    if (end < text.length) this.#tail = undefined
    return end
  }
}
