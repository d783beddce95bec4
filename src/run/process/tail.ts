import type { MaskStream } from '../../base/secrets/mask.ts'
import { printableLines } from '../../base/terminal/printable.ts'

const KEPT_BYTES = 4000
/** A cut first line up to this length is dropped. */
const SHORT_BYTES = 400

/**
 * The end of a process's output on both streams. Secrets are masked before it is cut, because half a
 * secret is not recognised.
 */
export class Tail {
  readonly #masked: Readonly<Record<'out' | 'err', MaskStream>>
  #bytes = Buffer.alloc(0)
  #size = 0

  constructor(mask: () => MaskStream) {
    this.#masked = { out: mask(), err: mask() }
  }

  add(stream: 'out' | 'err', bytes: Uint8Array): void {
    this.#keep(this.#masked[stream].push(bytes))
  }

  /** The printable text, to be called after the last `add`. */
  end(): string {
    for (const stream of ['out', 'err'] as const) this.#keep(this.#masked[stream].end())
    const isCut = this.#size > KEPT_BYTES
    const text = (isCut ? this.#withoutBeginning() : this.#bytes).toString('utf8').toWellFormed()
    return printableLines(Bun.stripANSI(text)).trimEnd()
  }

  #keep(bytes: Uint8Array): void {
    this.#size += bytes.length
    const before = bytes.length >= KEPT_BYTES ? Buffer.alloc(0) : this.#bytes
    this.#bytes = Buffer.concat([before, bytes.subarray(-KEPT_BYTES)]).subarray(-KEPT_BYTES)
  }

  /** Whole lines, unless the first one is too long to drop. */
  #withoutBeginning(): Buffer {
    const line = this.#bytes.indexOf('\n') + 1
    if (line > 0 && line <= SHORT_BYTES) return this.#bytes.subarray(line)
    // Skips the rest of a UTF-8 sequence that was cut.
    const letter = this.#bytes.findIndex((byte) => (byte & 0xc0) !== 0x80)
    return Buffer.concat([Buffer.from('…'), this.#bytes.subarray(Math.max(0, letter))])
  }
}
