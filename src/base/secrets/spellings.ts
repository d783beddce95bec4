import {
  beginsEscape,
  escapesOf,
  hexDigit,
  isBlank,
  isQuotable,
  latin1,
  readAgain,
  readEscaped,
  readRaw,
  readWrap,
  shortEscapesOf,
  type Reader,
} from './characters.ts'
import { innerBase64 } from './encodings.ts'
import type { Needle } from './needles.ts'

// A known value is not searched for in a list of encodings, but followed: from a place where it may
// begin, each of its parts has to come next, in whatever way a program may have written it. Needles
// say where to look. So that each occurrence has one, wherever a stream is cut, its beginning may
// be irregular (escaped, wrapped, with a gap) only as far as a needle remains.

/** A way to write a value, as a row of parts that follow each other. */
export interface Spelling {
  readonly needles: readonly Needle[]
  /** So many of its first parts may be missing, because they are before the end of a line. */
  readonly skippable: number
  /** Whether parts may be missing only at the beginning of a line. */
  readonly skipsAtLineStart: boolean
  /** The first two bytes that it may have, as Latin-1; one, where any may follow. */
  beginnings(skipped: number): readonly string[]
  /** The end of an occurrence that begins here, or -1. */
  match(reader: Reader, start: number, skipped: number): number
}

/** From the beginning of an occurrence to the end of its first needle there are never more bytes. */
export const LONGEST_BEGINNING = 256

const NONE = -1
const NEWLINE = 10
const MOST_TRIES = 60

/** The ways in which programs print a value. */
export function spellingsOf(value: string): Spelling[] {
  return [
    new Text(value, 'all'),
    ...[0, 1, 2].map(
      (before) => new Text(innerBase64(value, before), 'base64', lastOf(value, before)),
    ),
    ...dumpsOf(Buffer.from(value)).map((dump) => new Cells(dump, /[^ -~]/.test(value))),
  ]
}

/** One line of a key of many lines. */
export function spellingsOfLine(line: string): Spelling[] {
  return [new Text(line, 'none')]
}

/** What base64 has after the inner part where nothing follows the value. */
function lastOf(value: string, before: number): string | undefined {
  const inner = innerBase64(value, 0)
  return before > 0 ? undefined : Buffer.from(value).toString('base64url')[inner.length]
}

/** Fewer parts before the end of a line say nothing: `e` and the end of a line are everywhere. */
const LEAST_BEFORE_WRAP = 4
const MOST_OF_WRAP = 48
const MOST_BACKSLASHES = 8
const URL_SAFE: Readonly<Record<number, number>> = { 43: 45, 47: 95, 45: 43, 95: 47 }

/**
 * How the beginning of an occurrence has been so far: plain, so that its first fragment is there;
 * wrapped, so that its second fragment has to be; or free to go on in any way.
 */
type Course = 'plain' | 'wrapped' | 'free'

/** Characters, each of which may be escaped; lines may be wrapped anywhere. */
class Text implements Spelling {
  readonly skipsAtLineStart = true
  readonly skippable: number
  readonly needles: readonly Needle[]
  readonly #codes: readonly number[]
  /** The bytes of each of them, as Latin-1. */
  readonly #raw: readonly string[]
  /** Which of its first characters may be escaped. */
  readonly #escaped: 'all' | 'base64' | 'none'
  readonly #last: string | undefined
  /** Two fragments by which it is found: the end of a line breaks only one of them. */
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

  /** How the first escape begins, if it is that of this character: at least three bytes. */
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

/** Numbers in a row, as `od`, `xxd`, `hexdump` and their like print bytes. */
interface Dump {
  readonly length: number
  readonly cell: (index: number) => string
  /** What is between a cell and the next one. */
  readonly between: (index: number) => string
  /** Whether letters are digits, which may be small or large. */
  readonly isHex?: boolean
}

function dumpsOf(bytes: Uint8Array): Dump[] {
  const dump = (cell: (byte: number) => string, between: string, isHex = false): Dump => ({
    length: bytes.length,
    cell: (index) => cell(bytes[index]!),
    between: () => between,
    isHex,
  })
  // Words have their last byte first. Bytes that share their word with others are left out.
  const words = (from: number, size: number, radix: number, width: number): Dump => ({
    length: Math.floor((bytes.length - from) / size),
    cell: (index) => {
      const word = bytes.subarray(from + index * size, from + (index + 1) * size)
      const value = word.reduceRight((all, byte) => all * 256 + byte, 0)
      return digits(value, radix, width)
    },
    between: () => ' ',
    isHex: radix === 16,
  })
  const aligned = (cell: (byte: number) => string, width: number): Dump => ({
    ...dump(cell, ' '),
    between: (index) => ' '.repeat(width - cell(bytes[index + 1] ?? 0).length),
  })
  // `xxd` writes two bytes together.
  const pairs = (odd: number): Dump => ({
    ...dump(hex, ' ', true),
    between: (index) => (index % 2 === odd ? ' ' : ''),
  })
  return [
    ...['', ' ', ':', ', 0x'].map((between) => dump(hex, between, true)),
    ...[0, 1].map(pairs),
    dump(characterCell, ' '),
    aligned(characterCell, 4),
    ...[',', ', ', ' '].map((between) => dump(String, between)),
    ...[4, 5].map((width) => aligned(String, width)),
    dump((byte) => digits(byte, 8, 3), ' '),
    dump((byte) => digits(byte, 2, 8), ' '),
    ...[0, 1].flatMap((from) => [words(from, 2, 16, 4), words(from, 2, 8, 6)]),
    ...[0, 1, 2, 3].map((from) => words(from, 4, 16, 8)),
  ].filter(({ length }) => length > 2)
}

function hex(byte: number): string {
  return digits(byte, 16, 2)
}

function digits(value: number, radix: number, width: number): string {
  return value.toString(radix).padStart(width, '0')
}

/** A byte as `od -c` shows it. */
function characterCell(byte: number): string {
  if (byte >= 32 && byte < 127) return String.fromCharCode(byte)
  const letter = { 9: 't', 10: 'n', 13: 'r' }[byte]
  return letter === undefined ? digits(byte, 8, 3) : `\\${letter}`
}

const MOST_OF_GAP = 3
const MOST_OF_COLUMN = 100
const MOST_OF_OFFSET = 21
const MOST_OF_LINE = 200
/** Cells of this width are needles themselves; of others, three in a row are. */
const WIDE = 4

/** What is known of an occurrence while it is followed. */
interface Row {
  readonly skipped: number
  readonly isCapital: boolean
  /** Whether it may be in a table that shows the characters beside the cells. */
  readonly isTable: boolean
  /** Whether its first needle has a gap. */
  readonly isBroken: boolean
}

/** Cells of a table, over several lines, with an offset before and the characters after them. */
class Cells implements Spelling {
  readonly skipsAtLineStart = false
  readonly skippable = 1
  readonly needles: readonly Needle[]
  readonly #dump: Dump
  readonly #isWide: boolean
  /** Whether the characters beside the cells are not all of the value, and so are not found as such. */
  readonly #isOnlyInCells: boolean
  /** As far as they were needed: most values are never met. */
  readonly #cells: string[] = []
  readonly #capitals: string[] = []

  constructor(dump: Dump, isOnlyInCells: boolean) {
    this.#dump = dump
    this.#isOnlyInCells = isOnlyInCells
    this.#isWide = dump.cell(0).length >= WIDE
    this.needles = this.#makeNeedles()
  }

  beginnings(skipped: number): readonly string[] {
    const { isHex, cell, between } = this.#dump
    const first = (cell(skipped) + between(skipped)).slice(0, 2)
    return isHex === true ? [...new Set([first, first.toUpperCase()])] : [first]
  }

  match(reader: Reader, start: number, skipped: number): number {
    for (const isCapital of this.#dump.isHex === true ? [false, true] : [false]) {
      reader.tries = MOST_TRIES
      const row = {
        skipped,
        isCapital,
        isTable: skipped > 0 || this.#isOnlyInCells,
        isBroken: false,
      }
      const end = this.#follow(reader, start, skipped, row)
      if (end !== NONE) return end
    }
    return NONE
  }

  /** From a place where a cell has to be. */
  #follow(reader: Reader, from: number, index: number, row: Row): number {
    let at = this.#read(reader, from, index, row)
    let { isBroken } = row
    for (let next = index + 1; at !== NONE && next < this.#dump.length; next += 1) {
      const cell = readText(reader, at, this.#dump.between(next - 1))
      let end = this.#read(reader, cell, next, row)
      if (end === NONE && this.#mayBreak(next, isBroken)) {
        isBroken ||= next < 4
        end = this.#read(reader, skipGap(reader, at), next, row)
        if (end === NONE && next - row.skipped > 1) {
          return this.#followInNextLine(reader, at, next, { ...row, isBroken, isTable: true })
        }
      }
      at = end
    }
    // The column of characters shows a part of the value, too.
    return at !== NONE && row.isTable ? endOfColumn(reader, at) : at
  }

  #followInNextLine(reader: Reader, from: number, index: number, row: Row): number {
    for (const line of nextLines(reader, from)) {
      for (const cell of [skipOffset(reader, line), line, readText(reader, line, '0x')]) {
        if (cell === NONE || reader.tries === 0) continue
        reader.tries -= 1
        const end = this.#follow(reader, cell, index, row)
        if (end !== NONE) return end
      }
    }
    return NONE
  }

  #read(reader: Reader, at: number, index: number, { isCapital }: Row): number {
    if (at === NONE) return NONE
    const cells = isCapital ? this.#capitals : this.#cells
    return readText(reader, at, (cells[index] ??= this.#write(index, isCapital)))
  }

  #write(index: number, isCapital: boolean): string {
    const cell = this.#dump.cell(index)
    return isCapital ? cell.toUpperCase() : cell
  }

  /** Whether a gap may be before a cell: not in both of its needles. */
  #mayBreak(index: number, isBroken: boolean): boolean {
    return index > 1 && (this.#isWide || !isBroken || index <= 4 || index > 6)
  }

  /** The first cell may be in the line before, and is missing then. */
  #makeNeedles(): Needle[] {
    const { cell, between, isHex } = this.#dump
    const width = cell(0).length + between(0).length
    const row = (from: number) =>
      [from, from + 1].map((index) => cell(index) + between(index)).join('') + cell(from + 2)
    const far = 4 * (width + MOST_OF_GAP) + MOST_OF_COLUMN + MOST_OF_WRAP + MOST_OF_OFFSET
    const found = this.#isWide
      ? [{ text: cell(1), back: width }]
      : [
          { text: row(1), back: width + MOST_OF_GAP },
          { text: row(4), back: far },
        ]
    return found.flatMap(({ text, back }) => {
      const capital = text.toUpperCase().replaceAll('0X', '0x')
      const texts = isHex === true ? new Set([text, capital]) : [text]
      return [...texts].map((each) => ({ text: each, back }))
    })
  }
}

function readText(reader: Reader, at: number, text: string): number {
  for (let index = 0; index < text.length; index += 1) {
    if (reader.at(at + index) !== text.charCodeAt(index)) return NONE
  }
  return at + text.length
}

/** Blanks between two groups of cells. */
function skipGap(reader: Reader, from: number): number {
  let at = from
  while (at - from < MOST_OF_GAP && isBlank(reader.at(at))) at += 1
  return at === from ? NONE : at
}

/** `00000010:` and the blanks after it. */
function skipOffset(reader: Reader, from: number): number {
  let at = from
  while (at - from < 16 && hexDigit(reader.at(at)) !== NONE) at += 1
  if (at - from < 4) return NONE
  if (reader.at(at) === 58) at += 1
  const end = at
  while (at - end < 4 && isBlank(reader.at(at))) at += 1
  return at === end ? NONE : at
}

/** Where the next line may begin, after blanks, a comma or a column of characters. */
function* nextLines(reader: Reader, from: number): Generator<number> {
  const isColumn = isBlank(reader.at(from)) && isBlank(reader.at(from + 1))
  for (let at = from; at - from < MOST_OF_COLUMN; at += 1) {
    const byte = reader.at(at)
    const line = mayEndLine(byte) ? readWrap(reader, at) : NONE
    if (line !== NONE) yield line
    if (byte === NONE || byte === NEWLINE || !(isColumn || isBlank(byte) || byte === 44)) return
  }
}

/** The end of the line, where it has a column of characters; otherwise the place itself. */
function endOfColumn(reader: Reader, from: number): number {
  let isColumn = false
  for (let at = from; at - from < MOST_OF_LINE; at += 1) {
    const byte = reader.at(at)
    const isEnd = byte === NONE || (mayEndLine(byte) && readWrap(reader, at) !== NONE)
    if (isEnd) return isColumn ? at : from
    isColumn ||= isBlank(byte) && isBlank(reader.at(at + 1))
  }
  return from
}

/** Ends of lines may be escaped. */
function mayEndLine(byte: number): boolean {
  return byte === NEWLINE || byte === 13 || byte === 92
}
