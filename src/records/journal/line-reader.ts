import { readSync } from 'node:fs'

const CHUNK_BYTES = 256 * 1024
const NEWLINE = 10

/**
 * Reads a file line by line, with only one line and one chunk in memory. After `next()` the line is
 * `bytes` from `from` to `to`, without its newline.
 */
export class LineReader {
  readonly #fd: number
  readonly #limit: number
  #chunk: Buffer
  /** Where the next line begins in `bytes`, and where `bytes` ends in the file. */
  #at = 0
  #position: number
  bytes: Buffer
  from = 0
  to = 0
  /** Whether the line has a newline, and is not just the end of the file. */
  isEnded = false

  /** Reads from offset `start` to `limit`, by default to the end of the file. */
  constructor(fd: number, start = 0, limit = Infinity) {
    this.#fd = fd
    this.#limit = limit
    this.#position = start
    this.#chunk = Buffer.allocUnsafe(CHUNK_BYTES)
    this.bytes = this.#chunk.subarray(0, 0)
  }

  next(): boolean {
    this.from = this.#at
    let searched = this.#at
    for (;;) {
      const found = this.bytes.indexOf(NEWLINE, searched)
      if (found !== -1) {
        this.to = found
        this.#at = found + 1
        this.isEnded = true
        return true
      }
      const length = this.bytes.length - this.from
      if (!this.#readMore()) return this.#takeRest()
      searched = this.from + length
    }
  }

  /** Where the line begins in the file. */
  get offset(): number {
    return this.#position - this.bytes.length + this.from
  }

  /** Where the next line begins in the file. */
  get nextOffset(): number {
    return this.#position - this.bytes.length + this.#at
  }

  get text(): string {
    return this.bytes.toString('utf8', this.from, this.to)
  }

  #takeRest(): boolean {
    this.to = this.#at = this.bytes.length
    this.isEnded = false
    return this.to > this.from
  }

  /** Moves the incomplete line to the front and reads more after it. */
  #readMore(): boolean {
    const rest = this.bytes.subarray(this.from)
    const isTight = rest.length > this.#chunk.length / 2
    const chunk = isTight ? Buffer.allocUnsafe(this.#chunk.length * 2) : this.#chunk
    chunk.set(rest)
    const space = Math.min(chunk.length - rest.length, this.#limit - this.#position)
    const got = space <= 0 ? 0 : readSync(this.#fd, chunk, rest.length, space, this.#position)
    this.#chunk = chunk
    this.#position += got
    this.bytes = chunk.subarray(0, rest.length + got)
    this.from = 0
    this.#at = 0
    return got > 0
  }
}
