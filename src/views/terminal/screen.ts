const ESC = '\u001b'
/** Synchronized output: the terminal shows the frame at once or ignores the two sequences. */
const [BEGIN, END] = [`${ESC}[?2026h`, `${ESC}[?2026l`]

/** Rows of a terminal and the position of the cursor. */
export interface Rows {
  readonly rows: readonly string[]
  readonly cursor: { readonly row: number; readonly column: number }
}

const NOTHING: Rows = { rows: [], cursor: { row: 0, column: 0 } }

/** Rows that change in place, on a whole screen or below permanent lines. Returns what to write. */
export class Screen {
  #shown = NOTHING
  #width = 0

  get isEmpty(): boolean {
    return this.#shown.rows.length === 0
  }

  /** Replaces the rows, and inserts permanent lines above them. */
  draw(next: Rows, width: number, above: readonly string[] = []): string {
    const isSame = above.length === 0 && width === this.#width
    if (isSame && Bun.deepEquals(next, this.#shown)) return ''
    const kept = isSame && next.rows.length >= this.#shown.rows.length ? this.#shown.rows : []
    const lines = [...above, ...next.rows].map((row, index) =>
      row === kept[index] ? '' : `${kept.length === 0 ? '' : `${ESC}[2K`}${row}${ESC}[0m`,
    )
    const start = kept.length === 0 ? this.clear(width) : this.#moveToTop(width)
    this.#shown = next
    this.#width = width
    return `${BEGIN}${start}${lines.join('\r\n')}${place(next)}${END}`
  }

  /** Removes the rows. */
  clear(width: number): string {
    const text = `${this.#moveToTop(width)}${ESC}[0J`
    this.#shown = NOTHING
    return text
  }

  /** Clears the whole screen. */
  wipe(): string {
    this.forget()
    return `${ESC}[2J${ESC}[H`
  }

  /** Call when the cursor is on an empty line, so that nothing has to be replaced. */
  forget(): void {
    this.#shown = NOTHING
    this.#width = 0
  }

  /**
   * A terminal that became narrower has wrapped the rows, but not every terminal wraps the cursor's row.
   * Leaving part of it is better than erasing a line above.
   */
  #moveToTop(width: number): string {
    const { rows, cursor } = this.#shown
    const above = rows.slice(0, cursor.row)
    return `\r${up(above.reduce((sum, row) => sum + heightOf(row, width), 0))}`
  }
}

function place({ rows, cursor }: Rows): string {
  const right = cursor.column > 0 ? `${ESC}[${cursor.column}C` : ''
  return `\r${up(rows.length - 1 - cursor.row)}${right}`
}

function up(rows: number): string {
  return rows > 0 ? `${ESC}[${rows}A` : ''
}

function heightOf(row: string, width: number): number {
  return Math.max(1, Math.ceil(Bun.stringWidth(row) / Math.max(1, width)))
}
