const EMPTY = Buffer.alloc(0)

/** Keeps the last bytes of a stream, however much flows by, with one small copy for each chunk. */
export class Tail {
  readonly #size: number
  /** Many agents say nothing. */
  #bytes = EMPTY
  #used = 0
  #isCut = false

  constructor(size: number) {
    this.#size = size
  }

  push(bytes: Uint8Array): void {
    if (this.#bytes === EMPTY) this.#bytes = Buffer.allocUnsafe(2 * this.#size)
    const room = this.#bytes.length - this.#used
    if (bytes.length > room) this.#keep(bytes.length >= this.#size ? 0 : this.#size)
    else if (bytes.length > this.#size) this.#keep(0)
    const last = bytes.subarray(-this.#size)
    this.#bytes.set(last, this.#used)
    this.#used += last.length
  }

  /** Of what came before, no more than the next bytes leave room for. */
  #keep(length: number): void {
    this.#bytes.copyWithin(0, this.#used - length, this.#used)
    this.#used = length
    this.#isCut = true
  }

  /** Complete lines only; the last one may lack its end. */
  get text(): string {
    const text = this.#bytes.toString('utf8', 0, this.#used)
    if (!this.#isCut) return text
    const end = text.indexOf('\n')
    return end === -1 ? '' : text.slice(end + 1)
  }
}
