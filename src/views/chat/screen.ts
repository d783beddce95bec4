import { cut, safe, wrapLine } from '../terminal/columns.ts'
import { Screen, type Rows } from '../terminal/screen.ts'
import { reduceLine } from '../terminal/terminal-filter.ts'
import type { Tty } from '../terminal/tty.ts'

/** An answer as it arrives: full rows are final, the last one still grows. */
export class AnswerRows {
  #tail: string | undefined

  /** The row that is not full yet; undefined between two answers. */
  get tail(): string | undefined {
    return this.#tail
  }

  /** Adds a chunk; returns the rows that are now full. */
  push(piece: string, width: number): string[] {
    const lines = ((this.#tail ?? '') + piece).replaceAll('\r', '').split('\n')
    const rows = lines.flatMap((line) => wrapLine(safe(line.replaceAll('\t', '    ')), width - 1))
    this.#tail = rows.pop()
    return rows
  }

  /** Ends the answer; returns the rest of it. */
  end(): string[] {
    const rest = this.#tail ? [this.#tail] : []
    this.#tail = undefined
    return rest
  }
}

/** A chat on the terminal: permanent lines, the growing row of an answer, and the prompt. */
export class ChatScreen {
  readonly #tty: Tty
  readonly #live = new Screen()
  readonly #answer = new AnswerRows()
  /** Permanent lines that are not written yet. */
  #lines: string[] = []

  constructor(tty: Tty) {
    this.#tty = tty
  }

  /** Adds permanent lines; they end the current row of an answer. */
  print(lines: readonly string[]): void {
    if (lines.length === 0) return
    this.endAnswer()
    this.#lines.push(...lines.map(reduceLine))
  }

  addToAnswer(piece: string): void {
    this.#lines.push(...this.#answer.push(piece, this.#tty.size.width))
  }

  endAnswer(): void {
    this.#lines.push(...this.#answer.end())
  }

  /** Clears the screen; what is above it can still be scrolled to. */
  wipe(): void {
    this.#tty.write(this.#live.wipe())
  }

  /** Another program may have written to the terminal. */
  forget(): void {
    this.#live.forget()
  }

  draw(status: string, prompt: Rows): void {
    if (!this.#tty.isEntered) return
    const { width } = this.#tty.size
    const { tail } = this.#answer
    const above = [
      ...(tail === undefined ? [] : wrapLine(tail, width - 1)),
      ...(status === '' ? [] : [cut(status, Math.max(1, width - 1))]),
    ]
    const cursor = { ...prompt.cursor, row: prompt.cursor.row + above.length }
    const live = { rows: [...above, ...prompt.rows], cursor }
    this.#tty.write(this.#live.draw(live, width, this.#lines.splice(0)))
  }

  /** Leaves only the permanent lines; removes the prompt. */
  close(): void {
    this.endAnswer()
    const lines = this.#lines.splice(0).map((line) => `${line}\r\n`)
    this.#tty.write(this.#live.clear(this.#tty.size.width) + lines.join(''))
  }
}
