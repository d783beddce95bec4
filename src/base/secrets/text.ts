import {
  beginsEscape,
  escapesOf,
  isQuotable,
  latin1,
  readAgain,
  readEscaped,
  readRaw,
  readWrap,
  shortEscapesOf,
  type Reader,
} from './characters.ts'
import type { Needle } from './needles.ts'
import { MOST_OF_WRAP, MOST_TRIES, type Spelling } from './spelling.ts'

const NONE = -1
/** Fewer characters before a line break prove nothing: `e` before a line break is everywhere. */
const LEAST_BEFORE_WRAP = 4
const MOST_BACKSLASHES = 8
const URL_SAFE: Readonly<Record<number, number>> = { 43: 45, 47: 95, 45: 43, 95: 47 }

/**
 * The beginning of an occurrence so far: `plain`, so that its first fragment is intact; `wrapped`, so
 * that its second fragment must be; or `free` to continue in any way.
 */
type Course = 'plain' | 'wrapped' | 'free'

/** A value as text, in which any character may be escaped and lines may be wrapped anywhere. */
export class Text implements Spelling {
  readonly skipsAtLineStart = true
  readonly skippable: number
  readonly needles: readonly Needle[]
  readonly #codes: readonly number[]
  /** The bytes of each character, as Latin-1. */
  readonly #raw: readonly string[]
  /** Which of its first characters may be escaped. */
  readonly #escaped: 'all' | 'base64' | 'none'
  readonly #last: string | undefined
  /** Two fragments to search for: a line break can split only one of them. */
  readonly #first: readonly [from: number, to: number]
  readonly #second: readonly [from: number, to: number]

  constructor(text: string, escaped: 'all' | 'base64' | 'none', last?: string) {
    this.#codes = Array.from(text, (character) => character.codePointAt(0)!)
    this.#raw = Array.from(text, latin1)
    this.#escaped = escaped
    this.#last = last
    const { length } = this.#codes
    this.skippable = Math.min(3, length - 5)
    const size = Math.max(3, Math.min(6, Math.floor((length - this.skippable) / 2)))
    const second = Math.min(this.skippable + size, length - size)
    this.#first = [this.skippable, this.skippable + size]
    this.#second = [second, second + size]
    this.needles = this.#makeNeedles()
  }

  beginnings(skipped: number): readonly string[] {
    const escapes = skipped === 0 && this.#mayBeEscaped(0) ? [...this.#escapesOf(0), '\\\\'] : []
    const seconds = this.#variants(this.#raw[skipped + 1]!)
    if (this.#mayBeEscaped(skipped + 1)) seconds.push('\\', '%', '&', '+', '\r')
    const raw = this.#variants(this.#raw[skipped]!).flatMap((first) =>
      seconds.map((second) => first + second),
    )
    return [...new Set([...raw, ...escapes].map((each) => each.slice(0, 2)))]
  }

  match(reader: Reader, start: number, skipped: number): number {
    reader.tries = MOST_TRIES
    return this.#follow(reader, start, skipped, skipped, 'plain')
  }

  #follow(reader: Reader, from: number, index: number, skipped: number, before: Course): number {
    let at = from
    let course = before
    for (let next = index; next < this.#codes.length; next += 1) {
      const code = this.#codes[next]!
      if (beginsEscape(code) && this.#mayBeEscapedHere(course, next, skipped)) {
        const then = this.#courseAfter('escape', course, next)
        let end = readEscaped(reader, at, code, this.#isQuotable(next))
        while (end !== NONE && reader.tries > 0) {
          reader.tries -= 1
          const whole = this.#follow(reader, end, next + 1, skipped, then)
          if (whole !== NONE) return whole
          end = readAgain(reader, end, code)
        }
      }
      let end = this.#readPlain(reader, at, code)
      if (end === NONE && this.#mayBeEscapedHere(course, next, skipped)) {
        end = readEscaped(reader, at, code, this.#isQuotable(next))
        if (end !== NONE) course = this.#courseAfter('escape', course, next)
      }
      if (end === NONE && this.#mayBeWrappedHere(course, next, skipped)) {
        const line = readWrap(reader, at)
        course = this.#courseAfter('wrap', course, next)
        if (line !== NONE) end = this.#readPlain(reader, line, code)
        if (line !== NONE && end === NONE)
          end = readEscaped(reader, line, code, this.#isQuotable(next))
      }
      if (end === NONE) return NONE
      at = end
    }
    return this.#last !== undefined && this.#isAt(reader, at, this.#last.charCodeAt(0))
      ? at + 1
      : at
  }

  #mayBeEscapedHere(course: Course, index: number, skipped: number): boolean {
    const end = this.#first[1]
    if (course === 'free') return true
    if (course === 'wrapped') return index < this.#second[0] || index >= this.#second[1]
    return index >= end || (this.#mayBeEscaped(index) && (skipped === 0 || index > skipped))
  }

  #mayBeWrappedHere(course: Course, index: number, skipped: number): boolean {
    if (index - skipped < LEAST_BEFORE_WRAP) return false
    const [from, to] = this.#second
    return course !== 'wrapped' || index <= from || index >= to
  }

  #courseAfter(how: 'escape' | 'wrap', course: Course, index: number): Course {
    if (course !== 'plain') return course
    return how === 'wrap' && index < this.#first[1] ? 'wrapped' : 'free'
  }

  #readPlain(reader: Reader, at: number, code: number): number {
    const raw = readRaw(reader, at, code)
    return raw === NONE && this.#isAt(reader, at, code) ? at + 1 : raw
  }

  #isAt(reader: Reader, at: number, code: number): boolean {
    const byte = reader.at(at)
    return byte === code || (this.#escaped === 'base64' && byte === URL_SAFE[code])
  }

  #mayBeEscaped(index: number): boolean {
    if (this.#escaped !== 'base64') return this.#escaped === 'all'
    return URL_SAFE[this.#codes[index]!] !== undefined
  }

  #makeNeedles(): Needle[] {
    const needles = [
      ...this.#fragments(this.#first, 0),
      ...this.#fragments(this.#second, MOST_OF_WRAP),
    ]
    for (let index = 0; index < this.#first[1]; index += 1) {
      if (!this.#mayBeEscaped(index)) continue
      const back = this.#rawText(0, index).length + MOST_BACKSLASHES
      for (const text of this.#escapesOf(index)) needles.push({ text, back })
    }
    return needles
  }

  #fragments([from, to]: readonly [number, number], before: number): Needle[] {
    const back = this.#rawText(0, from).length + before
    return this.#variants(this.#rawText(from, to)).map((text) => ({ text, back }))
  }

  /** The first bytes, at least three, of the first escape if this character is the one that is escaped. */
  #escapesOf(index: number): string[] {
    const code = this.#codes[index]!
    const short = shortEscapesOf(code, this.#isQuotable(index))
    const before = this.#variants(this.#raw[index - 1] ?? '')
    const next = [...this.#variants(this.#raw[index + 1] ?? ''), '\\', '%', '&', '+']
    return [
      ...escapesOf(code),
      ...short.flatMap((escape) => [
        ...(index === 0 ? next.map((each) => escape + each) : before.map((each) => each + escape)),
        ...(escape.startsWith('\\') ? [`\\${escape}`] : []),
      ]),
    ]
  }

  #isQuotable(index: number): boolean {
    return isQuotable(this.#codes[index]!, this.#codes[index - 1])
  }

  #rawText(from: number, to: number): string {
    return this.#raw.slice(from, to).join('')
  }

  /** Base64 has two alphabets. */
  #variants(text: string): string[] {
    if (this.#escaped !== 'base64' || !/[+/]/.test(text)) return [text]
    return [text, text.replaceAll('+', '-').replaceAll('/', '_')]
  }
}
