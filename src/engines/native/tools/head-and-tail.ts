import { formatBytes } from '../../../base/files.ts'
import { printableLines } from '../../../base/terminal/printable.ts'
import { shortenStart } from '../../../base/shorten.ts'

/** Keeps the start and end of an output of any length, and counts what is missing in between. */
export class HeadAndTail {
  readonly #headBytes: number
  readonly #tailBytes: number
  #head = Buffer.alloc(0)
  #tail = Buffer.alloc(0)
  #size = 0

  constructor(headBytes: number, tailBytes: number) {
    this.#headBytes = headBytes
    this.#tailBytes = tailBytes
  }

  add(bytes: Uint8Array): void {
    const room = this.#headBytes - this.#head.length
    if (room > 0) this.#head = Buffer.concat([this.#head, bytes.subarray(0, room)])
    const last = bytes.subarray(room).subarray(-this.#tailBytes)
    this.#tail = Buffer.concat([this.#tail, last]).subarray(-this.#tailBytes)
    this.#size += bytes.length
  }

  get text(): string {
    const missing = this.#size - this.#head.length - this.#tail.length
    if (missing === 0) return clean(Buffer.concat([this.#head, this.#tail]).toString('utf8'))
    const head = clean(wholeLines(this.#head.toString('utf8')))
    const tail = clean(shortenStart(this.#tail.toString('utf8')))
    const left = this.#size - Buffer.byteLength(head) - Buffer.byteLength(tail)
    return `${head}\n[… about ${formatBytes(left)} of ${formatBytes(this.#size)} left out …]\n${tail}`
  }
}

/** Cuts a text whose end is missing after its last complete line, or word if it has only one line. */
function wholeLines(text: string): string {
  const end = text.lastIndexOf('\n')
  const lines = end === -1 ? text.replace(/\s\S*$/, '') : text.slice(0, end)
  return lines === text ? text.replace(/\uFFFD+$/, '') : lines
}

/** As a terminal would show it, without colours: only the last state of a progress bar. */
function clean(text: string): string {
  const lines = Bun.stripANSI(text).replaceAll('\r\n', '\n').split('\n')
  const shown = lines.map((line) => line.replace(/\r+$/, '').replace(/^[^]*\r/, ''))
  return printableLines(shown.join('\n')).trimEnd().toWellFormed()
}
