import { writeSync } from 'node:fs'

/** Escape sequences for taking over the terminal and for giving it back. */
export interface Modes {
  readonly enter: string
  readonly leave: string
}

export interface Size {
  readonly width: number
  readonly height: number
}

/** The longest wait for output: a terminal that is gone must not keep the program from ending. */
const FLUSH_MS = 500

export interface TtyEvents {
  onInput(chunk: Uint8Array): void
  onResize(): void
  /** The terminal is gone. */
  onGone(): void
}

/** The terminal on stdin and stdout, in raw mode between `enter` and `leave`. */
export class Tty {
  readonly #modes: Modes
  #isEntered = false
  #left: Promise<void> = Promise.resolve()

  constructor(modes: Modes, events: TtyEvents) {
    this.#modes = modes
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
    this.write(this.#modes.enter)
  }

  /** Takes over the terminal again after the program was suspended. */
  reenter(): void {
    this.#isEntered = false
    setRawMode(false)
    this.enter()
  }

  /** Resolves when the terminal is restored, also if an earlier call began to restore it. */
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
    await flush(this.#modes.leave)
  }

  write(text: string): void {
    if (text !== '') process.stdout.write(text)
  }

  /** The last resort, if the program exits without `leave`. */
  readonly #restore = (): void => {
    if (!this.#isEntered) return
    this.#isEntered = false
    setRawMode(false)
    try {
      writeSync(1, this.#modes.leave)
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
