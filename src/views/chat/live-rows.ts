import type { Rows } from './rows.ts'

const ESC = '\u001b'
/** The terminal shows all of it at once, or ignores the two marks. */
const [BEGIN, END] = [`${ESC}[?2026h`, `${ESC}[?2026l`]

/**
 * The rows at the end of what a terminal shows that still change; all above them is the terminal's
 * own, and stays. Gives what has to be written.
 */
export class LiveRows {
  #shown: Rows = { rows: [], cursor: { row: 0, column: 0 } }
  #width = 0

  /** Other live rows, below these lines, which stay. */
  draw(lines: readonly string[], next: Rows, width: number): string {
    if (lines.length === 0 && width === this.#width && Bun.deepEquals(next, this.#shown)) return ''
    const above = lines.map((line) => `${line}${ESC}[0m\r\n`).join('')
    const rows = next.rows.map((row) => `${row}${ESC}[0m`).join('\r\n')
    const text = `${BEGIN}${this.#erase(width)}${above}${rows}${this.#place(next)}${END}`
    this.#shown = next
    this.#width = width
    return text
  }

  /** Takes the live rows away: others write there now. */
  clear(width: number): string {
    const text = this.#erase(width)
    this.#shown = { rows: [], cursor: { row: 0, column: 0 } }
    return text
  }

  /** The screen is empty, or another program has written to it. */
  forget(): void {
    this.#shown = { rows: [], cursor: { row: 0, column: 0 } }
    this.#width = 0
  }

  /**
   * Terminals that have become narrower break the rows that were there, but not all of them that of
   * the cursor: rather a piece of it is left than a line of others lost.
   */
  #erase(width: number): string {
    const { rows, cursor } = this.#shown
    const before = rows.slice(0, cursor.row)
    const up = before.reduce((sum, row) => sum + heightOf(row, width), 0)
    return `\r${up > 0 ? `${ESC}[${up}A` : ''}${ESC}[0J`
  }

  #place({ rows, cursor }: Rows): string {
    const up = rows.length - 1 - cursor.row
    const right = cursor.column > 0 ? `${ESC}[${cursor.column}C` : ''
    return `\r${up > 0 ? `${ESC}[${up}A` : ''}${right}`
  }
}

function heightOf(row: string, width: number): number {
  return Math.max(1, Math.ceil(Bun.stringWidth(row) / Math.max(1, width)))
}
