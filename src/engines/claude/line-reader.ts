const NEWLINE = 10
const RETURN = 13

/** Longer lines are skipped to save memory; no relevant event is that long. */
const LONGEST_BYTES = 64 * 1024 * 1024

/** Splits chunks into lines. A line is valid only during the call that gets it. */
export class LineReader {
  readonly #take: (line: Buffer) => void
  #parts: Buffer[] = []
  #length = 0

  constructor(take: (line: Buffer) => void) {
    this.#take = take
  }

  push(bytes: Uint8Array): void {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      if (this.#length === 0) this.#emit(chunk.subarray(from, end))
      else this.#finish(chunk.subarray(from, end))
      from = end + 1
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from))
  }

  /** The last line may lack its line end. */
  end(): void {
    if (this.#length > 0) this.#finish(Buffer.alloc(0))
  }

  /** Copies, because the caller may reuse the chunk. */
  #keep(part: Buffer): void {
    this.#length += part.length
    if (this.#length <= LONGEST_BYTES) this.#parts.push(Buffer.from(part))
    else this.#parts = []
  }

  #finish(rest: Buffer): void {
    const isTooLong = this.#length + rest.length > LONGEST_BYTES
    const line = isTooLong ? Buffer.alloc(0) : Buffer.concat([...this.#parts, rest])
    this.#parts = []
    this.#length = 0
    this.#emit(line)
  }

  #emit(line: Buffer): void {
    this.#take(line.at(-1) === RETURN ? line.subarray(0, -1) : line)
  }
}
