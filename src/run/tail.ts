import { printableLines } from '../base/printable.ts'
import { shortenStart } from '../base/shorten.ts'

/** So much of the end of an output is kept. */
const KEPT_BYTES = 4000

/** The end of what a process printed, on both streams, as far as it is kept. */
export class Tail {
  #bytes = Buffer.alloc(0)
  #size = 0

  add(bytes: Uint8Array): void {
    this.#size += bytes.length
    const before = bytes.length >= KEPT_BYTES ? Buffer.alloc(0) : this.#bytes
    this.#bytes = Buffer.concat([before, bytes.subarray(-KEPT_BYTES)]).subarray(-KEPT_BYTES)
  }

  /** Whole lines or words, where something had to be left out; no program is started with a NUL in its arguments. */
  get text(): string {
    const text = this.#bytes.toString('utf8').toWellFormed()
    const whole = this.#size <= KEPT_BYTES ? text : shortenStart(text)
    return printableLines(Bun.stripANSI(whole)).trimEnd()
  }
}
