import { cut } from '../../base/terminal/columns.ts'
import { reduceLine } from '../../base/terminal/terminal-filter.ts'
import type { Tty } from '../../base/terminal/tty.ts'
import { AnswerRows, wrapLine } from './answer.ts'
import { LiveRows } from './live-rows.ts'
import type { Rows } from './rows.ts'

const ESC = '\u001b'

/** What a chat has on the terminal: lines that stay, the row of an answer that grows, and the prompt. */
export class ChatScreen {
  readonly #tty: Tty
  readonly #live = new LiveRows()
  readonly #answer = new AnswerRows()
  /** Lines that stay and are not written yet. */
  #lines: string[] = []

  constructor(tty: Tty) {
    this.#tty = tty
  }

  /** Lines that stay; a line of an answer that is being written is over with that. */
  print(lines: readonly string[]): void {
    if (lines.length === 0) return
    this.#lines.push(...this.#answer.end(), ...lines.map(reduceLine))
  }

  hear(piece: string): void {
    this.#lines.push(...this.#answer.push(piece, this.#tty.size.width))
  }

  endAnswer(): void {
    this.#lines.push(...this.#answer.end())
  }

  /** An empty screen; what is above it can still be scrolled to. */
  wipe(): void {
    this.#tty.write(`${ESC}[2J${ESC}[H`)
    this.#live.forget()
  }

  /** Somebody else has written to the terminal. */
  forget(): void {
    this.#live.forget()
  }

  draw(status: string | undefined, prompt: Rows): void {
    if (!this.#tty.isEntered) return
    const { width } = this.#tty.size
    const { tail } = this.#answer
    const above = [
      ...(tail === undefined ? [] : wrapLine(tail, width - 1)),
      ...(status === undefined ? [] : [cut(status, Math.max(1, width - 1))]),
    ]
    const cursor = { ...prompt.cursor, row: prompt.cursor.row + above.length }
    const lines = this.#lines.splice(0)
    this.#tty.write(this.#live.draw(lines, { rows: [...above, ...prompt.rows], cursor }, width))
  }

  /** Leaves what is said, and nothing of the prompt. */
  close(): void {
    this.endAnswer()
    const lines = this.#lines.splice(0).map((line) => `${line}\r\n`)
    this.#tty.write(this.#live.clear(this.#tty.size.width) + lines.join(''))
  }
}
