const NEWLINE = 10

/** A line longer than this is passed over: nothing that matters is so long, and it would fill the memory. */
const LONGEST_BYTES = 64 * 1024 * 1024

/** Cuts bytes into lines, however they come; each line is handed on once. */
export class LineReader {
  readonly #take: (line: string) => void
  #parts: Buffer[] = []
  #length = 0

  constructor(take: (line: string) => void) {
    this.#take = take
  }

  push(bytes: Uint8Array): void {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      if (this.#length === 0) this.#hand(chunk.toString('utf8', from, end))
      else this.#finish(chunk.subarray(from, end))
      from = end + 1
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from))
  }

  /** The last line may have no end. */
  end(): void {
    if (this.#length > 0) this.#finish(Buffer.alloc(0))
  }

  /** Copied, because the chunk belongs to whoever handed it over. */
  #keep(part: Buffer): void {
    this.#length += part.length
    if (this.#length <= LONGEST_BYTES) this.#parts.push(Buffer.from(part))
    else this.#parts = []
  }

  #finish(rest: Buffer): void {
    const isTooLong = this.#length + rest.length > LONGEST_BYTES
    const line = isTooLong ? '' : Buffer.concat([...this.#parts, rest]).toString('utf8')
    this.#parts = []
    this.#length = 0
    this.#hand(line)
  }

  #hand(line: string): void {
    this.#take(line.endsWith('\r') ? line.slice(0, -1) : line)
  }
}
