import { hexDigit, isBlank, readWrap, type Reader } from './characters.ts'
import type { Dump } from './dumps.ts'
import type { Needle } from './needles.ts'
import { MOST_OF_WRAP, MOST_TRIES, type Spelling } from './spelling.ts'

const NONE = -1
const NEWLINE = 10
const MOST_OF_GAP = 3
const MOST_OF_COLUMN = 100
const MOST_OF_OFFSET = 21
const MOST_OF_LINE = 200
/** Cells of at least this width are needles themselves; narrower ones are searched by three in a row. */
const WIDE = 4

/** What is known about an occurrence while it is matched. */
interface Row {
  readonly skipped: number
  readonly isCapital: boolean
  /** Whether it may be in a table with a column that shows the characters. */
  readonly isTable: boolean
  /** Whether its first needle has a gap. */
  readonly isBroken: boolean
}

/** A value in a hex dump or similar table, with an offset before and the characters after the cells. */
export class Cells implements Spelling {
  readonly skipsAtLineStart = false
  readonly skippable = 1
  readonly needles: readonly Needle[]
  readonly #dump: Dump
  readonly #isWide: boolean
  /** Whether the column of characters cannot show the whole value, so that a text search misses it. */
  readonly #isOnlyInCells: boolean
  /** Filled on demand: most values never occur. */
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

  /** Matches from a position where a cell must begin. */
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
    // The column of characters shows a part of the value too.
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

  /** Whether a gap may precede a cell: one of the two needles must stay intact. */
  #mayBreak(index: number, isBroken: boolean): boolean {
    return index > 1 && (this.#isWide || !isBroken || index <= 4 || index > 6)
  }

  /** The needles leave out the first cell, which may be on the previous line. */
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

/** The end of the line if it has a column of characters; otherwise `from`. */
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

/** Includes the first characters of escaped line ends. */
function mayEndLine(byte: number): boolean {
  return byte === NEWLINE || byte === 13 || byte === 92
}
