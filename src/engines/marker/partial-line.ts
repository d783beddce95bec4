/** An incomplete line of any length in little memory. */
export class PartialLine {
  readonly #limit: number
  readonly #needles: readonly Buffer[]
  readonly #seam: number
  #head = Buffer.alloc(0)
  #tail = Buffer.alloc(0)
  #length = 0
  #hasNeedle = false

  /** Keeps the first `limit` bytes and notes whether a needle is anywhere in the line. */
  constructor(limit: number, needles: readonly Buffer[]) {
    this.#limit = limit
    this.#needles = needles
    this.#seam = Math.max(...needles.map((needle) => needle.length))
  }

  append(bytes: Buffer): void {
    if (bytes.length === 0) return
    this.#length += bytes.length
    const room = this.#limit - this.#head.length
    if (room > 0) this.#head = Buffer.concat([this.#head, bytes.subarray(0, room)])
    // A needle may have started in an earlier chunk.
    const seam = Buffer.concat([this.#tail, bytes.subarray(0, this.#seam)])
    this.#hasNeedle ||= this.#needles.some(
      (needle) => seam.includes(needle) || bytes.includes(needle),
    )
    this.#tail = Buffer.concat([this.#tail, bytes.subarray(-this.#seam)]).subarray(-this.#seam)
  }

  clear(): void {
    this.#head = Buffer.alloc(0)
    this.#tail = Buffer.alloc(0)
    this.#length = 0
    this.#hasNeedle = false
  }

  get head(): Buffer {
    return this.#head
  }
  get isEmpty(): boolean {
    return this.#length === 0
  }
  get length(): number {
    return this.#length
  }
  get hasNeedle(): boolean {
    return this.#hasNeedle
  }
}
