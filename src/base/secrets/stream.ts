import type { Secrets } from './secrets.ts'
import { NEAR, type Needles } from './needles.ts'

export interface MaskStream {
  /** The bytes that may be shown; the same Uint8Array where nothing changed. */
  push(bytes: Uint8Array): Uint8Array
  /** What was held back because it could have been the beginning of a secret. */
  end(): Uint8Array
}

/** A value may stand behind so much that is shown. */
const SLACK = 80
/** So much of a long secret is skipped at once. */
const SLICE = 4096
const NOTHING = new Uint8Array(0)

export class SecretStream implements MaskStream {
  readonly #secrets: Secrets
  readonly #needles: Needles
  #held: Uint8Array = NOTHING
  /** The two characters before what is held, or before the next chunk. */
  #before = ''
  /** Set while inside a secret that is masked already. */
  #tail: RegExp | undefined

  /** The secrets are searched for in bytes read as Latin-1. */
  constructor(secrets: Secrets, needles: Needles) {
    this.#secrets = secrets
    this.#needles = needles
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
    const from = this.#skipTail(chunk, 0)
    const { done, hold } = this.#mask(chunk, from, isEnd, shown)
    if (hold > 0) this.#before = lastTwo(this.#before, chunk, hold)
    this.#held = hold === chunk.length ? NOTHING : new Uint8Array(chunk.subarray(hold))
    if (done === 0 && hold === bytes.length && chunk === bytes) return bytes
    shown.push(chunk.subarray(done, hold))
    return shown.length === 1 ? shown[0]! : Buffer.concat(shown)
  }

  /** Says up to where all is in `shown`, and from where the rest is to be held back. */
  #mask(chunk: Uint8Array, from: number, isEnd: boolean, shown: Uint8Array[]) {
    let done = from
    let undecided = chunk.length
    const cuts = isEnd ? [] : this.#findCuts(chunk, from)
    const held = () =>
      cuts.reduce((first, { at }) => (at < done ? first : Math.min(first, at)), undecided)
    for (let scan = from; ;) {
      const pair = this.#needles.next(chunk, scan)
      if (pair === -1) return { done, hold: held() }
      const { text, offset, from: first, isToTheEnd } = this.#window(chunk, done, pair)
      if (isToTheEnd && !isEnd) {
        const beginning = this.#secrets.findBeginning(text, first - offset, pair - offset) + offset
        undecided = Math.min(undecided, beginning)
      }
      const found = this.#secrets.find(text, first - offset, pair - offset)
      scan = pair + 1
      if (found === undefined) continue
      const start = found.start + offset
      const isCut = cuts.some(({ at, isValue }) => isValue && at === found.secret + offset)
      if (isCut || start >= held()) return { done, hold: Math.min(start, held()) }
      shown.push(chunk.subarray(done, start), Buffer.from(found.mask))
      this.#tail = found.tail
      done = this.#skipTail(chunk, found.end + offset)
      scan = done
      if (undecided < done) undecided = chunk.length
    }
  }

  /** What is around a pair of a needle, with two characters before it. */
  #window(chunk: Uint8Array, done: number, pair: number) {
    const from = Math.max(done, pair - NEAR)
    const to = Math.min(chunk.length, pair + this.#secrets.reach + SLACK)
    return { ...this.#read(chunk, from, to), from, isToTheEnd: to === chunk.length }
  }

  /** A part as text, with two characters before it; the offset leads from the text to the part. */
  #read(chunk: Uint8Array, from: number, to: number) {
    if (from > 1) return { text: latin1(chunk, from - 2, to), offset: from - 2 }
    return { text: this.#before + latin1(chunk, 0, to), offset: -this.#before.length }
  }

  #findCuts(chunk: Uint8Array, from: number) {
    const last = lastTwo(this.#before, chunk, chunk.length)
    if (!this.#secrets.mayBeCut(last)) return []
    const start = Math.max(from, chunk.length - this.#secrets.reach)
    const { text, offset } = this.#read(chunk, start, chunk.length)
    const cuts = this.#secrets.findCuts(text)
    return cuts
      .map(({ at, isValue }) => ({ at: at + offset, isValue }))
      .filter(({ at }) => at >= from)
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

function lastTwo(before: string, bytes: Uint8Array, end: number): string {
  if (end > 1) return String.fromCharCode(bytes[end - 2]!, bytes[end - 1]!)
  return (before + latin1(bytes, 0, end)).slice(-2)
}

function latin1(bytes: Uint8Array, from: number, to: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('latin1')
}
