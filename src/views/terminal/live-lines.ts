// oxlint-disable no-control-regex
import { isForeground } from '../../base/linux/is-foreground.ts'
import { Screen } from './screen.ts'
import type { TerminalWriter } from './terminal-writer.ts'
import type { Progress, WindowTitle } from './title.ts'
import type { Size } from './tty.ts'

/** The rows are painted at most this often, and lines wait this long at most. */
const FRAME_MS = 100
/** More text than this does not wait for the next frame. */
const MOST_WAITING = 64 * 1024
/** A longer unfinished line is written before its end, and the rows are hidden until then. */
const LONGEST_OPEN = 4096
/** How long to wait for a suspension, which the system may refuse. */
const SUSPEND_MS = 100

const NEWLINE = 10
const RESET = '\u001b[0m'
const BELL = Buffer.from('\u0007')
/** Ends control strings and colours that lost output has left open. */
const KNOWN_STATE = `\u001b\\${RESET}`
const STYLE = /\u001b\[([\d;:]*)m/g

/** What is shown right now. */
export interface LiveFrame {
  readonly rows: readonly string[]
  /** For the title of the window; empty if it stays as it is. */
  readonly title: string
  readonly progress: Progress
}

export type RenderFrame = (size: Size) => LiveFrame

/**
 * Lines on a terminal that stay, above rows that change in place. Only whole lines are written above; an unfinished
 * one is the first of the rows.
 */
export class LiveLines {
  readonly #writer: TerminalWriter
  readonly #size: () => Size
  readonly #describeDropped: (lines: number) => string
  readonly #title: WindowTitle | undefined
  readonly #screen = new Screen()
  #render: RenderFrame | undefined
  /** Whole lines that are not written yet, and the line after them. */
  #lines = ''
  #open = ''
  /** Colours that are set at the end of what was written. */
  #style = ''
  #isInLine = false
  /** Lines that a stalled terminal did not take. */
  #dropped = 0
  #lastFrame = 0
  #frame: Timer | undefined

  constructor(
    writer: TerminalWriter,
    size: () => Size,
    describeDropped: (lines: number) => string,
    title?: WindowTitle,
  ) {
    this.#writer = writer
    this.#size = size
    this.#describeDropped = describeDropped
    this.#title = title
  }

  /** A promise asks the caller to wait before writing more. Only what is `ours` is shown in any case. */
  write(bytes: Uint8Array, isOurs = false): void | Promise<void> {
    if (bytes.length === 0) return
    if (this.#writer.isFull && !isOurs) {
      this.#dropped += Math.max(1, bytes.filter((byte) => byte === NEWLINE).length)
      return
    }
    const text = this.#takeNote() + Buffer.from(bytes).toString()
    if (this.#render === undefined) return this.#writer.write(Buffer.from(text))
    return this.#add(text)
  }

  get #isFull(): boolean {
    return this.#lines.length + this.#open.length > MOST_WAITING
  }

  /** What to say about dropped lines. */
  #takeNote(): string {
    const lines = this.#dropped
    this.#dropped = 0
    return lines === 0 ? '' : `\n${KNOWN_STATE}${this.#describeDropped(lines)}\n`
  }

  #add(more: string): void | Promise<void> {
    const text = this.#open + more
    const end = text.lastIndexOf('\n') + 1
    this.#lines += text.slice(0, end)
    this.#open = text.slice(end)
    if (this.#isFull) return this.#paint()
    this.refresh()
  }

  /** Begins to show rows. */
  show(render: RenderFrame): void {
    this.#render = render
    process.on('exit', this.#leave).on('SIGTSTP', this.#suspend).on('SIGCONT', this.#forget)
    process.stdout.on('resize', this.refresh)
    this.refresh()
  }

  /** Paints soon, because something has changed. */
  readonly refresh = (): void => {
    if (this.#render === undefined || this.#frame !== undefined) return
    const wait = this.#lastFrame + FRAME_MS - performance.now()
    this.#frame = setTimeout(() => void this.#paint(), Math.max(0, wait))
  }

  ring(): void {
    void this.#writer.write(BELL)
  }

  /** Writes everything and removes the rows. */
  async drain(): Promise<void> {
    this.#leave()
    await this.#writer.drain()
  }

  #paint(): void | Promise<void> {
    clearTimeout(this.#frame)
    this.#frame = undefined
    if (this.#render === undefined) return
    this.#lastFrame = performance.now()
    // A stalled terminal gets no rows: they would be out of date when it continues.
    if (this.#writer.isBehind && !this.#isFull) return this.refresh()
    if (this.#dropped > 0) this.#lines += this.#takeNote()
    const { width, height } = this.#size()
    const above = this.#takeLines(width)
    const { rows: live, title, progress } = this.#render({ width, height })
    // In the background, rows would be painted over the prompt of the shell.
    const isShown = isForeground()
    const rows = isShown ? [...this.#openRows(width), ...live] : []
    const named = (isShown && this.#title?.show(title, progress)) || ''
    const cursor = { row: 0, column: 0 }
    const isHidden = this.#isInLine || (rows.length === 0 && this.#screen.isEmpty)
    const below = isHidden ? '' : this.#screen.draw({ rows, cursor }, width)
    return this.#writer.write(Buffer.from(`${above}${below}${named}`))
  }

  /** The lines to write above the rows, which are removed first. */
  #takeLines(width: number): string {
    const isLong = this.#open.length > LONGEST_OPEN
    const text = `${this.#lines}${isLong || this.#isInLine ? this.#open : ''}`
    if (text === '') return ''
    if (isLong || this.#isInLine) this.#open = ''
    this.#lines = ''
    const shown = `${this.#clear(width)}${this.#style}${text}`
    this.#isInLine = !text.endsWith('\n')
    for (const [style, codes = ''] of text.matchAll(STYLE))
      this.#style = /^0*$/.test(codes) ? '' : `${this.#style}${style}`.slice(-100)
    return `${shown}${this.#style === '' ? '' : RESET}`
  }

  /** The unfinished line, or what is visible of it. */
  #openRows(width: number): string[] {
    const shown = this.#open.slice(this.#open.lastIndexOf('\r') + 1)
    if (shown === '') return []
    return Bun.wrapAnsi(`${this.#style}${shown}`, width, { hard: true, trim: false }).split('\n')
  }

  #clear(width: number): string {
    return this.#screen.isEmpty ? '' : this.#screen.clear(width)
  }

  readonly #leave = (): void => {
    if (this.#render === undefined) return
    const { width } = this.#size()
    clearTimeout(this.#frame)
    const rest = this.#lines + this.#open + this.#takeNote()
    const title = this.#title?.end() ?? ''
    void this.#writer.write(Buffer.from(`${this.#clear(width)}${this.#style}${rest}${title}`))
    this.#render = undefined
    this.#lines = ''
    this.#open = ''
    process.off('exit', this.#leave).off('SIGTSTP', this.#suspend).off('SIGCONT', this.#forget)
    process.stdout.off('resize', this.refresh)
  }

  readonly #suspend = (): void => {
    void this.#writer.write(Buffer.from(this.#clear(this.#size().width)))
    process.off('SIGTSTP', this.#suspend)
    // The default action: the system ignores it if no shell could continue the process.
    process.kill(process.pid, 'SIGTSTP')
    setTimeout(() => {
      if (this.#render !== undefined) process.on('SIGTSTP', this.#suspend)
    }, SUSPEND_MS)
  }

  /** The shell has written something. */
  readonly #forget = (): void => {
    this.#screen.forget()
    this.refresh()
  }
}
