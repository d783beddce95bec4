const NEWLINE = 10

/** Splits chunks into lines. A line is valid only during the call that gets it. */
export class LineReader {
  readonly #limit: number
  readonly #take: (line: Buffer, length: number) => void
  #parts: Buffer[] = []
  #length = 0

  /** For a line longer than `limit` bytes, `take` gets only the start and the total length. */
  constructor(limit: number, take: (line: Buffer, length: number) => void) {
    this.#limit = limit
    this.#take = take
  }

  push(bytes: Uint8Array): void {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      this.#emit(chunk.subarray(from, end))
      from = end + 1
    }
    // Copied, because the caller may reuse the chunk.
    const room = Math.max(0, this.#limit - this.#length)
    if (room > 0) this.#parts.push(Buffer.from(chunk.subarray(from, from + room)))
    this.#length += chunk.length - from
  }

  /** The last line may lack its line end. */
  end(): void {
    if (this.#length > 0) this.#emit(Buffer.alloc(0))
  }

  get length(): number {
    return this.#length
  }

  get partial(): Buffer {
    return Buffer.concat(this.#parts)
  }

  #emit(rest: Buffer): void {
    const length = this.#length + rest.length
    const line = this.#length === 0 ? rest : Buffer.concat([...this.#parts, rest])
    this.#parts = []
    this.#length = 0
    this.#take(line.subarray(0, this.#limit), length)
  }
}
