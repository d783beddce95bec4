import { writeSync } from 'node:fs'
import { KeyParser, type Key } from './keys.ts'
import type { TerminalWriter } from './terminal-writer.ts'

/** Escape sequences for taking over the terminal, and for restoring it. */
export interface Modes {
  readonly enter: string
  readonly leave: string
}

export interface Size {
  readonly width: number
  readonly height: number
}

/** Maximum wait for output: a terminal that is gone must not keep the program from exiting. */
const FLUSH_MS = 500
/** How long to wait to see whether an Escape begins a longer sequence. */
const ESCAPE_MS = 40
/** How long to wait for a suspension, which the system may refuse. */
const SUSPEND_MS = 100

export interface TtyEvents {
  onKeys(keys: readonly Key[]): void
  /** The terminal was taken over; another program may have written to it before. */
  onTaken(): void
  onResize(): void
  /** The program is about to be suspended. */
  onSuspend?(): void
  onGone(): void
}

/** The terminal on stdin and stdout, in raw mode between `enter` and `leave` unless suspended. */
export class Tty {
  readonly #modes: Modes
  readonly #events: TtyEvents
  readonly #writer: TerminalWriter | undefined
  readonly #keys = new KeyParser()
  #escapeTimer: Timer | undefined
  #isWanted = false
  #isEntered = false
  #left: Promise<void> = Promise.resolve()

  /** Without a `writer`, a terminal that nobody reads blocks the process. */
  constructor(modes: Modes, events: TtyEvents, writer?: TerminalWriter) {
    this.#modes = modes
    this.#events = events
    this.#writer = writer
    const { stdin, stdout } = process
    stdin.on('data', (chunk: Buffer) => this.#read(chunk))
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
    this.#isWanted = true
    process.off('SIGCONT', this.#continue).on('SIGCONT', this.#continue)
    this.#take()
  }

  /** Resolves when the terminal is restored, even if an earlier call began to restore it. */
  async leave(): Promise<void> {
    this.#isWanted = false
    process.off('SIGCONT', this.#continue)
    await this.#giveBack()
  }

  /** Suspends the whole job, including the program that started this one. */
  suspend(): void {
    process.kill(0, 'SIGTSTP')
  }

  #read(chunk: Uint8Array): void {
    clearTimeout(this.#escapeTimer)
    this.#events.onKeys(this.#keys.push(chunk))
    if (!this.#keys.isWaiting) return
    this.#escapeTimer = setTimeout(() => this.#events.onKeys(this.#keys.flush()), ESCAPE_MS)
  }

  readonly #take = (): void => {
    if (!this.#isWanted || this.#isEntered) return
    this.#isEntered = true
    process.on('SIGTSTP', this.#stop)
    process.stdin.setRawMode(true)
    process.stdin.resume()
    this.write(this.#modes.enter)
    this.#events.onTaken()
  }

  async #giveBack(): Promise<void> {
    if (this.#isEntered) {
      this.#isEntered = false
      process.off('SIGTSTP', this.#stop)
      clearTimeout(this.#escapeTimer)
      process.stdin.pause()
      setRawMode(false)
      this.#left = this.#flush(this.#modes.leave)
    }
    await this.#left
  }

  readonly #stop = (): void => void this.#leaveAndStop()

  async #leaveAndStop(): Promise<void> {
    this.#events.onSuspend?.()
    await this.#giveBack()
    // The default action: the system ignores it if no shell could continue the process.
    process.kill(process.pid, 'SIGTSTP')
    setTimeout(this.#take, SUSPEND_MS)
  }

  /** After SIGSTOP, which cannot be caught, another program may have changed the terminal. */
  readonly #continue = (): void => {
    if (this.#isEntered) setRawMode(false)
    this.#isEntered = false
    process.off('SIGTSTP', this.#stop)
    this.#take()
  }

  write(text: string): void {
    if (text === '') return
    if (this.#writer === undefined) process.stdout.write(text)
    else void this.#writer.write(Buffer.from(text))
  }

  async #flush(text: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, FLUSH_MS)
    if (this.#writer === undefined) process.stdout.write(text, () => resolve())
    else {
      this.write(text)
      void this.#writer.drain().then(resolve)
    }
    await promise
    clearTimeout(timer)
  }

  /** Last resort, if the program exits without `leave`. */
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
