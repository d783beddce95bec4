import type { Output } from '../view.ts'

/**
 * A longer line is shown in parts, so that an agent that never ends its line stays visible and uses little
 * memory.
 */
const LONGEST_LINE = 64 * 1024
const NEWLINE = 10

/**
 * The output of a branch: whole lines, each prefixed with the branch's name, because other branches print at
 * the same time.
 */
export class BranchOutput implements Output {
  readonly #screen: Output
  readonly #prefix: string
  readonly #unfinished = { out: new UnfinishedLine(), err: new UnfinishedLine() }

  constructor(screen: Output, prefix: string) {
    this.#screen = screen
    this.#prefix = prefix
  }

  get isColoured(): boolean {
    return this.#screen.isColoured === true
  }

  bytes(stream: 'out' | 'err', bytes: Uint8Array): void | Promise<void> {
    const lines = this.#unfinished[stream].push(bytes)
    if (lines.length > 0) return this.#screen.bytes(stream, lines, this.#prefix)
  }

  line(text: string): void {
    this.#screen.line(text, { prefix: this.#prefix })
  }

  warn(text: string): void {
    this.#screen.warn(text, this.#prefix)
  }

  /** Shows lines that the agent has not ended yet. */
  finishLines(): void {
    for (const stream of ['out', 'err'] as const) {
      const line = this.#unfinished[stream].finish()
      if (line.length > 0) void this.#screen.bytes(stream, line, this.#prefix)
    }
  }
}

/** Holds back the last line until its end. */
class UnfinishedLine {
  #parts: Uint8Array[] = []
  #length = 0

  /** The lines that have ended. */
  push(bytes: Uint8Array): Uint8Array {
    const end = bytes.lastIndexOf(NEWLINE) + 1
    if (end > 0) return Buffer.concat([this.#take(bytes.subarray(end)), bytes.subarray(0, end)])
    this.#parts.push(bytes.slice())
    this.#length += bytes.length
    return this.#length > LONGEST_LINE ? this.#cut() : new Uint8Array(0)
  }

  finish(): Uint8Array {
    const line = this.#take()
    return line.length === 0 ? line : Buffer.concat([line, Buffer.of(NEWLINE)])
  }

  /** Ends the line before its last character, which may be incomplete. */
  #cut(): Uint8Array {
    const line = this.#take()
    const last = line.findLastIndex((byte) => (byte & 0xc0) !== 0x80)
    if (last > 0) this.#take(line.subarray(last))
    return Buffer.concat([line.subarray(0, last > 0 ? last : undefined), Buffer.of(NEWLINE)])
  }

  /** Takes what was held back, and keeps `rest` instead. */
  #take(rest: Uint8Array = new Uint8Array(0)): Uint8Array {
    const line = Buffer.concat(this.#parts)
    this.#parts = rest.length === 0 ? [] : [rest.slice()]
    this.#length = rest.length
    return line
  }
}
