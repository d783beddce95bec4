import { localTime } from '../base/local-time.ts'
import { BranchOutput } from './plain/branch-output.ts'
import type { LineStyle, Output } from './view.ts'

interface Options {
  /** Whether each line begins with its time. */
  readonly hasTimes: boolean
  /** How many of the lines so far are shown. */
  readonly tail?: number | undefined
  /** The time in ms from which on lines are shown. */
  readonly since: number
}

/** Writes a line, with this text before it. */
type Write = (time: string | undefined) => void | Promise<void>

interface Held {
  readonly write: Write
  readonly at: string
}

const NEWLINE = 10

/** Shows only some lines of a run that is shown again, or with their times. */
export class LogLines implements Output {
  readonly isColoured
  readonly #screen: Output
  readonly #options: Options
  readonly #agent: BranchOutput
  /** The last lines so far; absent once they are shown. */
  #held: Held[] | undefined
  #at = ''

  constructor(screen: Output, options: Options) {
    this.#screen = screen
    this.#options = options
    this.#held = options.tail === undefined ? undefined : []
    this.isColoured = screen.isColoured ?? false
    const whole = (stream: 'out' | 'err', bytes: Uint8Array) => this.#addLines(stream, bytes)
    this.#agent = new BranchOutput(
      { bytes: whole, line: () => undefined, warn: () => undefined },
      '',
    )
  }

  /** Call with the time of each event before it is shown. */
  begin(at: string): void {
    this.#at = at
  }

  bytes(stream: 'out' | 'err', bytes: Uint8Array, prefix?: string): void | Promise<void> {
    if (prefix === undefined) return this.#agent.bytes(stream, bytes)
    return this.#addLines(stream, bytes, prefix)
  }

  line(text: string, { prefix = '', ...style }: LineStyle = {}): void {
    this.#agent.finishLines()
    void this.#add((time) => {
      const before = time === undefined && prefix === '' ? {} : { prefix: (time ?? '') + prefix }
      this.#screen.line(text, { ...style, ...before })
    })
  }

  warn(text: string, prefix = ''): void {
    this.#agent.finishLines()
    void this.#add((time) => {
      if (time === undefined && prefix === '') this.#screen.warn(text)
      else this.#screen.warn(text, (time ?? '') + prefix)
    })
  }

  /** Shows the last lines so far; later ones are shown at once. */
  async catchUp(): Promise<void> {
    const held = this.#lastHeld()
    this.#held = undefined
    for (const { write, at } of held) await write(this.#timeOf(at))
  }

  async end(): Promise<void> {
    this.#agent.finishLines()
    await this.catchUp()
  }

  #addLines(stream: 'out' | 'err', bytes: Uint8Array, prefix = ''): void | Promise<void> {
    if (this.#held === undefined) return this.#addBytes(stream, bytes, prefix)
    for (let from = 0; from < bytes.length;) {
      const end = bytes.indexOf(NEWLINE, from) + 1 || bytes.length
      void this.#addBytes(stream, bytes.subarray(from, end), prefix)
      from = end
    }
  }

  #addBytes(stream: 'out' | 'err', bytes: Uint8Array, prefix: string): void | Promise<void> {
    return this.#add((time) => {
      if (time === undefined && prefix === '') return this.#screen.bytes(stream, bytes)
      return this.#screen.bytes(stream, bytes, (time ?? '') + prefix)
    })
  }

  #add(write: Write): void | Promise<void> {
    const at = this.#at
    if (Date.parse(at) < this.#options.since) return
    if (this.#held === undefined) return write(this.#timeOf(at))
    this.#held.push({ write, at })
    // Removing them one by one would be slow.
    if (this.#held.length > 2 * this.#options.tail! + 100) this.#held = this.#lastHeld()
  }

  #lastHeld(): Held[] {
    const { tail = 0 } = this.#options
    return this.#held === undefined || tail === 0 ? [] : this.#held.slice(-tail)
  }

  #timeOf(at: string): string | undefined {
    return this.#options.hasTimes ? `${localTime(at, true).slice(5)} ` : undefined
  }
}
