import { createHash } from 'node:crypto'
import { readSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { withoutCutKey } from '../../base/shorten.ts'
import { KIND_BYTES, kindOfBinary } from './file-kind.ts'

/** A longer line is cut. */
const LINE_BYTES = 2000
const CHUNK_BYTES = 1024 * 1024

export interface PageOptions {
  /** Number of the first line, from 1. */
  readonly offset: number
  readonly limit: number
  readonly limitBytes: number
  /** Whether to go through all of it, so that it can be counted and recognised. */
  readonly toEnd: boolean
  readonly signal: AbortSignal
}

/** Some lines of a file. */
export interface Page {
  readonly lines: readonly string[]
  /** Lines of the whole file; undefined where its end was not seen. */
  readonly total: number | undefined
  readonly digest: string | undefined
  readonly hasCrlf: boolean
  readonly isUtf8: boolean
}

/** Reads a page, of however long a file and of however long lines, and lets others work in between. */
export async function readPage(
  fd: number,
  options: PageOptions,
): Promise<Page | { readonly binary: string }> {
  const hash = options.toEnd ? createHash('sha256') : undefined
  const collector = new Collector(options)
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  for (let position = 0; ;) {
    const bytes = chunk.subarray(0, readSync(fd, chunk, 0, CHUNK_BYTES, position))
    const binary = position === 0 ? kindOfBinary(bytes.subarray(0, KIND_BYTES)) : undefined
    if (binary !== undefined) return { binary }
    if (bytes.length === 0) return { ...collector.end(), digest: hash?.digest('hex') }
    position += bytes.length
    hash?.update(bytes)
    collector.add(bytes)
    if (options.signal.aborted || (collector.isFull && !options.toEnd)) break
    await setImmediate()
  }
  return { ...collector.page, total: undefined, digest: undefined }
}

class Collector {
  readonly #options: PageOptions
  readonly #lines: string[] = []
  #number = 1
  #bytes = 0
  #line: Uint8Array[] = []
  #lineBytes = 0
  #hasCrlf = false
  #isUtf8 = true
  isFull = false

  constructor(options: PageOptions) {
    this.#options = options
  }

  add(bytes: Uint8Array): void {
    let start = 0
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, start)) {
      this.#extend(bytes.subarray(start, end))
      this.#endLine()
      start = end + 1
    }
    this.#extend(bytes.subarray(start))
  }

  end(): Omit<Page, 'digest'> {
    if (this.#lineBytes > 0) this.#endLine()
    return { ...this.page, total: this.#number - 1 }
  }

  get page() {
    return { lines: this.#lines, hasCrlf: this.#hasCrlf, isUtf8: this.#isUtf8 }
  }

  #extend(bytes: Uint8Array): void {
    const room = LINE_BYTES + 1 - this.#lineBytes
    // The chunk is used again.
    if (this.#isWanted && room > 0) this.#line.push(Uint8Array.from(bytes.subarray(0, room)))
    this.#lineBytes += bytes.length
  }

  get #isWanted(): boolean {
    return !this.isFull && this.#number >= this.#options.offset
  }

  #endLine(): void {
    if (this.#isWanted) this.#take(Buffer.concat(this.#line))
    this.#number += 1
    this.#line = []
    this.#lineBytes = 0
  }

  #take(start: Buffer): void {
    const isCrlf = start.at(-1) === 13 && start.length === this.#lineBytes
    const line = this.#decode(isCrlf ? start.subarray(0, -1) : start)
    const { limit, limitBytes } = this.#options
    this.#bytes += Buffer.byteLength(line) + 1
    // One line is given in any case: nobody could read on otherwise.
    if (this.#bytes > limitBytes && this.#lines.length > 0) return void (this.isFull = true)
    this.#hasCrlf ||= isCrlf
    this.#lines.push(line)
    this.isFull = this.#lines.length >= limit
  }

  #decode(start: Buffer): string {
    const isCut = start.length > LINE_BYTES
    const bytes = isCut ? wholeCharacters(start.subarray(0, LINE_BYTES)) : start
    const text = bytes.toString('utf8')
    this.#isUtf8 &&= !text.includes('\uFFFD') || Buffer.from(text).equals(bytes)
    const isMarked = this.#number === 1 && text.startsWith('\uFEFF')
    const clean = text.slice(isMarked ? 1 : 0).replaceAll('\0', '\uFFFD')
    return isCut ? `${withoutCutKey(clean)}… [cut: the line has ${this.#lineBytes} bytes]` : clean
  }
}

/** Without the beginning of a character at the end. */
function wholeCharacters(bytes: Buffer): Buffer {
  let end = bytes.length
  while (end > 0 && end > bytes.length - 3 && (bytes[end - 1]! & 0xc0) === 0x80) end--
  const lead = bytes[end - 1] ?? 0
  const size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return end - 1 + size > bytes.length ? bytes.subarray(0, end - 1) : bytes
}
