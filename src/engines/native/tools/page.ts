// oxlint-disable no-control-regex
import { createHash } from 'node:crypto'
import { readSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { withoutCutKey } from '../../../base/shorten.ts'
import { LineReader } from '../../line-reader.ts'

/** A longer line is cut. */
const LINE_BYTES = 2000
const PAGE_BYTES = 64 * 1024
const CHUNK_BYTES = 1024 * 1024

export interface PageOptions {
  /** Number of the first line, from 1. */
  readonly offset: number
  readonly limit: number
  /** Whether to read the whole file, for `total` and `digest`. */
  readonly toEnd: boolean
  readonly signal: AbortSignal
}

/** Some lines of a file. */
export interface Page {
  readonly lines: readonly string[]
  /** Lines of the whole file; undefined if it was not read to the end. */
  readonly total: number | undefined
  readonly digest: string | undefined
  readonly hasCrlf: boolean
  readonly isUtf8: boolean
}

/** Reads a page of a file with any size and line length, without blocking the event loop for long. */
export async function readPage(
  fd: number,
  options: PageOptions,
): Promise<Page | { readonly binary: string }> {
  const hash = options.toEnd ? createHash('sha256') : undefined
  const collector = new Collector(options)
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  for (let position = 0; ;) {
    const bytes = chunk.subarray(0, readSync(fd, chunk, 0, CHUNK_BYTES, position))
    const binary = position === 0 ? binaryKind(bytes) : undefined
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
  readonly #reader = new LineReader(LINE_BYTES + 1, (start, length) => this.#endLine(start, length))
  readonly #lines: string[] = []
  #number = 1
  #bytes = 0
  #hasCrlf = false
  #isUtf8 = true
  isFull = false

  constructor(options: PageOptions) {
    this.#options = options
  }

  add(bytes: Uint8Array): void {
    this.#reader.push(bytes)
  }

  end(): Omit<Page, 'digest'> {
    this.#reader.end()
    return { ...this.page, total: this.#number - 1 }
  }

  get page() {
    return { lines: this.#lines, hasCrlf: this.#hasCrlf, isUtf8: this.#isUtf8 }
  }

  #endLine(start: Buffer, length: number): void {
    if (!this.isFull && this.#number >= this.#options.offset) this.#take(start, length)
    this.#number += 1
  }

  #take(start: Buffer, length: number): void {
    const isCrlf = start.at(-1) === 13 && start.length === length
    const line = this.#decode(isCrlf ? start.subarray(0, -1) : start, length)
    this.#bytes += Buffer.byteLength(line) + 1
    // At least one line is returned; otherwise reading could not continue after it.
    if (this.#bytes > PAGE_BYTES && this.#lines.length > 0) return void (this.isFull = true)
    this.#hasCrlf ||= isCrlf
    this.#lines.push(line)
    this.isFull = this.#lines.length >= this.#options.limit
  }

  #decode(start: Buffer, length: number): string {
    const isCut = start.length > LINE_BYTES
    const bytes = start.subarray(0, LINE_BYTES)
    // With `stream`, an incomplete character at the end is left out.
    const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: isCut })
    const encoded = Buffer.from(text)
    this.#isUtf8 &&= encoded.equals(bytes.subarray(0, encoded.length))
    const isMarked = this.#number === 1 && text.startsWith('\uFEFF')
    const clean = text.slice(isMarked ? 1 : 0).replaceAll('\0', '\uFFFD')
    return isCut ? `${withoutCutKey(clean)}… [cut: the line has ${length} bytes]` : clean
  }
}

const SIGNATURES: readonly (readonly [string, RegExp])[] = [
  ['a PNG image', /^\x89PNG/],
  ['a JPEG image', /^\xff\xd8\xff/],
  ['a GIF image', /^GIF8[79]a/],
  ['a WebP image', /^RIFF....WEBP/s],
  ['a PDF document', /^%PDF-/],
  [
    'UTF-16 text, which `iconv -f UTF-16 -t UTF-8` turns into readable text',
    /^(?:\xff\xfe|\xfe\xff)/,
  ],
]

/** How much of the start of a file is checked. */
const KIND_BYTES = 8192

/** The kind of a binary file by its first bytes; undefined for text. */
function binaryKind(start: Buffer): string | undefined {
  const bytes = start.toString('latin1', 0, KIND_BYTES)
  const known = SIGNATURES.find(([, signature]) => signature.test(bytes))?.[0]
  return known ?? (bytes.includes('\0') ? 'a binary file' : undefined)
}
