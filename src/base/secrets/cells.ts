import { NONE, type Source, type Spelling } from './spelling.ts'
import { WRAP } from './text.ts'

/** What may be between two cells of a line. Hexadecimal digits may follow each other directly. */
const HEX_GAP = '[:,]?[ \\t]{0,4}(?:0x)?'
const GAP = '(?:[:,][ \\t]{0,4}|[ \\t]{1,4})'
/** The rest of a line, which may have a column that shows the characters, up to the next cell. */
const OFFSET = '[\\dA-Fa-f]{4,16}:?[ \\t]{1,4}'
const BREAK = `(?:[ \\t]{2}[^\\n]{0,98}?|[ \\t,]{0,8})${WRAP}(?:0x|${OFFSET})??`
const LONGEST_BREAK = 200
/** With the gap before it. */
const LONGEST_CELL = 16
const BEGINS_BREAK = /[\s,\\%&]|$/y
const REST_OF_LINE = new RegExp(`[^]{0,200}?(?=${WRAP}|$)`, 'y')

/** A value in a hex dump or similar table, with an offset before and the characters after the cells. */
export class Cells implements Spelling {
  readonly skipsAtLineStart = false
  readonly skippable = 1
  readonly #cells: readonly string[]
  readonly #isHex: boolean
  readonly #gap: string
  /** Whether the column of characters cannot show the whole value, so that a text search misses it. */
  readonly #isOnlyInCells: boolean
  /** Compiled on first use: most values never occur. */
  readonly #patterns: Readonly<Record<string, RegExp[]>>

  constructor(cells: readonly string[], isHex: boolean, isOnlyInCells: boolean) {
    this.#cells = cells
    this.#isHex = isHex
    this.#gap = isHex ? HEX_GAP : GAP
    this.#patterns = { '': [], [this.#gap]: [], [BREAK]: [] }
    this.#isOnlyInCells = isOnlyInCells
  }

  starts(skipped: number): string[] {
    const [cell, next] = [this.#cells[skipped]!, this.#cells[skipped + 1]!]
    const gaps = [' ', '  ', '   ', '\t', ':', ': ', ',', ', ', ...(this.#isHex ? [''] : [])]
    const starts = gaps.map((gap) => cell + gap + next)
    return this.#isHex ? [...starts, ...starts.map((start) => start.toUpperCase())] : starts
  }

  match(source: Source, start: number, skipped: number): number {
    let isTable = skipped > 0 || this.#isOnlyInCells
    let at = this.#read(source, start, skipped, '')
    for (let index = skipped + 1; at !== NONE && index < this.#cells.length; index += 1) {
      let end = this.#read(source, at, index, this.#gap)
      BEGINS_BREAK.lastIndex = at
      if (end === NONE && index - skipped > 1 && BEGINS_BREAK.test(source.text)) {
        if (source.text.length - at < LONGEST_BREAK) source.ranOut = true
        isTable = true
        end = this.#read(source, at, index, BREAK)
      }
      at = end
    }
    return at !== NONE && isTable ? endOfColumn(source, at) : at
  }

  #read(source: Source, at: number, index: number, before: string): number {
    const { text } = source
    const pattern = (this.#patterns[before]![index] ??= this.#pattern(index, before))
    pattern.lastIndex = at
    if (pattern.test(text)) return pattern.lastIndex
    if (text.length - at < LONGEST_CELL && this.#isCut(text.slice(at), index, before))
      source.ranOut = true
    return NONE
  }

  #pattern(index: number, before: string): RegExp {
    const cell = this.#cells[index]!.replaceAll(/[^A-Za-z0-9]/g, '\\$&')
    // After a line break, `0` may be the beginning of an offset.
    const end = before === BREAK && !this.#isHex ? '(?![\\dA-Fa-f])' : ''
    return new RegExp(before + cell + end, this.#isHex ? 'iy' : 'y')
  }

  /** Whether the rest of the text may be the beginning of a cell. */
  #isCut(rest: string, index: number, before: string): boolean {
    const cell = rest.replace(new RegExp(`^${before}`), '').toLowerCase()
    return cell === '0' || cell === '' || this.#cells[index]!.toLowerCase().startsWith(cell)
  }
}

/** The end of the line if it has a column of characters, which shows a part of the value too. */
function endOfColumn(source: Source, at: number): number {
  REST_OF_LINE.lastIndex = at
  const [rest] = REST_OF_LINE.exec(source.text) ?? ['']
  if (at + rest.length === source.text.length) source.ranOut = true
  return /[ \t]{2}/.test(rest) ? at + rest.length : at
}

/** Bytes as `od`, `xxd`, `hexdump` and similar programs print them. */
export function dumpsOf(value: string): Cells[] {
  const bytes = Buffer.from(value)
  const each = (write: (byte: number) => string) => Array.from(bytes, write)
  // Words are little-endian. Bytes that share a word with bytes outside the value are left out.
  const words = (from: number, size: number, radix: number, width: number) =>
    Array.from({ length: Math.floor((bytes.length - from) / size) }, (_, index) =>
      digits(bytes.readUIntLE(from + index * size, size), radix, width),
    )
  const hex = [
    each((byte) => digits(byte, 16, 2)),
    ...[0, 1].map((from) => words(from, 2, 16, 4)),
    ...[0, 1, 2, 3].map((from) => words(from, 4, 16, 8)),
  ]
  const others = [
    each(characterCell),
    each(String),
    each((byte) => digits(byte, 8, 3)),
    each((byte) => digits(byte, 2, 8)),
    ...[0, 1].map((from) => words(from, 2, 8, 6)),
  ]
  return [...hex, ...others]
    .filter((cells) => cells.length > 2)
    .map((cells) => new Cells(cells, hex.includes(cells), /[^ -~]/.test(value)))
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
