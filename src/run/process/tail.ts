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
  readonly #keptBytes: number
  /** Kept separately: concatenating at every chunk would be quadratic. */
  readonly #pieces: Uint8Array[] = []
  #size = 0
  isCut = false

  constructor(mask: () => MaskStream, keptBytes = KEPT_BYTES) {
    this.#masked = { out: mask(), err: mask() }
    this.#keptBytes = keptBytes
  }

  add(stream: 'out' | 'err', bytes: Uint8Array): void {
    this.#keep(this.#masked[stream].push(bytes))
  }

  /** The printable text, to be called after the last `add`. */
  end(): string {
    for (const stream of ['out', 'err'] as const) this.#keep(this.#masked[stream].end())
    const all = Buffer.concat(this.#pieces)
    this.isCut ||= all.length > this.#keptBytes
    const kept = this.isCut ? withoutBeginning(all.subarray(-this.#keptBytes)) : all
    return printableLines(Bun.stripANSI(kept.toString('utf8').toWellFormed())).trimEnd()
  }

  #keep(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    // Copied, because the caller may reuse the chunk.
    this.#pieces.push(bytes.slice())
    this.#size += bytes.length
    while (this.#size - this.#pieces[0]!.length >= this.#keptBytes) {
      this.#size -= this.#pieces.shift()!.length
      this.isCut = true
    }
  }
}

/** Whole lines, unless the first one is too long to drop. */
function withoutBeginning(bytes: Buffer): Buffer {
  const line = bytes.indexOf('\n') + 1
  if (line > 0 && line <= SHORT_BYTES) return bytes.subarray(line)
  // Skips the rest of a UTF-8 sequence that was cut.
  const letter = bytes.findIndex((byte) => (byte & 0xc0) !== 0x80)
  return Buffer.concat([Buffer.from('…'), bytes.subarray(Math.max(0, letter))])
}
