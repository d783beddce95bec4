import { writeSync } from 'node:fs'
import type { Size } from './layout.ts'

const ESC = '\u001b'
// The other screen, no cursor, no wrapping at the edge, pasted text marked as such.
const ENTER = `${ESC}[?1049h${ESC}[?25l${ESC}[?7l${ESC}[?2004h`
const LEAVE = `${ESC}[?2026l${ESC}[0m${ESC}[?2004l${ESC}[?7h${ESC}[?25h${ESC}[?1049l`

/** A terminal that is gone must not keep the program from ending. */
const FLUSH_MS = 500

export interface TerminalEvents {
  onInput(chunk: Uint8Array): void
  onResize(): void
  /** The terminal is gone. */
  onGone(): void
}

/** The terminal on stdin and stdout; between `enter` and `leave` it is the board's. */
export class Terminal {
  #isEntered = false
  #left: Promise<void> = Promise.resolve()

  constructor(events: TerminalEvents) {
    const { stdin, stdout } = process
    stdin.on('data', (chunk: Buffer) => events.onInput(chunk))
    stdin.on('end', () => events.onGone())
    for (const stream of [stdin, stdout]) stream.on('error', () => events.onGone())
    stdout.on('resize', () => events.onResize())
    process.on('exit', this.#restore)
  }

  get size(): Size {
    const { columns, rows } = process.stdout
    return { width: columns || 80, height: rows || 24 }
  }

  get isEntered(): boolean {
    return this.#isEntered
  }

  enter(): void {
    if (this.#isEntered) return
    this.#isEntered = true
    process.stdin.setRawMode(true)
    process.stdin.resume()
    this.write(ENTER)
  }

  /** Takes it again from whoever had it while the program stood still. */
  reenter(): void {
    this.#isEntered = false
    setRawMode(false)
    this.enter()
  }

  /** Done when the terminal is as it was before, whoever began with it. */
  async leave(): Promise<void> {
    if (this.#isEntered) {
      this.#isEntered = false
      this.#left = this.#giveBack()
    }
    await this.#left
  }

  async #giveBack(): Promise<void> {
    process.stdin.pause()
    setRawMode(false)
    await flush(LEAVE)
  }

  write(text: string): void {
    if (text !== '') process.stdout.write(text)
  }

  /** The last resort, for an end that nobody saw coming. */
  readonly #restore = (): void => {
    if (!this.#isEntered) return
    this.#isEntered = false
    setRawMode(false)
    try {
      writeSync(1, LEAVE)
    } catch {
      // The terminal is gone.
    }
  }
}

function setRawMode(isRaw: boolean): void {
  try {
    process.stdin.setRawMode(isRaw)
  } catch {
    // The terminal is gone.
  }
}

async function flush(text: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, FLUSH_MS)
  process.stdout.write(text, () => resolve())
  await promise
  clearTimeout(timer)
}
