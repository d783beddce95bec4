/** Keeps the last bytes of a stream of any length, with one small copy per chunk. */
export class Tail {
  readonly #size: number
  /** Allocated with the first bytes: many streams stay empty. */
  #bytes: Buffer | undefined
  #used = 0
  #isCut = false

  constructor(size: number) {
    this.#size = size
  }

  push(bytes: Uint8Array): void {
    const kept = (this.#bytes ??= Buffer.allocUnsafe(2 * this.#size))
    const room = kept.length - this.#used
    if (bytes.length > room) this.#keep(kept, bytes.length >= this.#size ? 0 : this.#size)
    else if (bytes.length > this.#size) this.#keep(kept, 0)
    const last = bytes.subarray(-this.#size)
    kept.set(last, this.#used)
    this.#used += last.length
  }

  /** Drops all but the last `length` bytes. */
  #keep(kept: Buffer, length: number): void {
    kept.copyWithin(0, this.#used - length, this.#used)
    this.#used = length
    this.#isCut = true
  }

  /** Starts at the beginning of a line. */
  get text(): string {
    const text = this.#bytes?.toString('utf8', 0, this.#used) ?? ''
    if (!this.#isCut) return text
    const end = text.indexOf('\n')
    return end === -1 ? '' : text.slice(end + 1)
  }
}
