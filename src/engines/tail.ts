/** Keeps the last bytes of a stream, however much flows by, with one small copy for each chunk. */
export class Tail {
  readonly #size: number
  /** Made for the first bytes: many a stream stays silent. */
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

  /** Of what came before, no more than the next bytes leave room for. */
  #keep(kept: Buffer, length: number): void {
    kept.copyWithin(0, this.#used - length, this.#used)
    this.#used = length
    this.#isCut = true
  }

  /** Complete lines only; the last one may lack its end. */
  get text(): string {
    const text = this.#bytes?.toString('utf8', 0, this.#used) ?? ''
    if (!this.#isCut) return text
    const end = text.indexOf('\n')
    return end === -1 ? '' : text.slice(end + 1)
  }
}
