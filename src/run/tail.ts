import type { MaskStream } from '../base/secrets/mask.ts'
import { printableLines } from '../base/printable.ts'

/** So much of the end of an output is kept. */
const KEPT_BYTES = 4000
/** Of a line whose beginning is lost so little can be left out. */
const SHORT_BYTES = 400

const AS_IT_IS: MaskStream = { push: (bytes) => bytes, end: () => new Uint8Array(0) }

/**
 * The end of what a process printed, on both streams, as far as it is kept. Secrets go before it is
 * cut: half a secret would not be recognised any more.
 */
export class Tail {
  readonly #masked: Readonly<Record<'out' | 'err', MaskStream>>
  #bytes = Buffer.alloc(0)
  #size = 0

  constructor(mask = () => AS_IT_IS) {
    this.#masked = { out: mask(), err: mask() }
  }

  add(stream: 'out' | 'err', bytes: Uint8Array): void {
    this.#keep(this.#masked[stream].push(bytes))
  }

  /** Called once nothing follows. No program is started with a NUL in its arguments. */
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

  /** Whole lines, but for a first one that says too much to be left out. */
  #withoutBeginning(): Buffer {
    const line = this.#bytes.indexOf('\n') + 1
    if (line > 0 && line <= SHORT_BYTES) return this.#bytes.subarray(line)
    // A letter has four bytes at most.
    const letter = this.#bytes.findIndex((byte) => (byte & 0xc0) !== 0x80)
    return Buffer.concat([Buffer.from('…'), this.#bytes.subarray(Math.max(0, letter))])
  }
}
