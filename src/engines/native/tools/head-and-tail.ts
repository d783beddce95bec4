import { formatBytes } from '../../../base/files.ts'
import { printableLines } from '../../../base/terminal/printable.ts'
import { shortenStart } from '../../../base/shorten.ts'

/** Keeps the start and the end of an output of any length, and how much is missing in between. */
export class HeadAndTail {
  readonly #headBytes: number
  readonly #tailBytes: number
  #head: Uint8Array[] = []
  #tail: Uint8Array[] = []
  #kept = { head: 0, tail: 0 }
  #size = 0

  constructor(headBytes: number, tailBytes: number) {
    this.#headBytes = headBytes
    this.#tailBytes = tailBytes
  }

  add(bytes: Uint8Array): void {
    this.#size += bytes.length
    const room = this.#headBytes - this.#kept.head
    // Copied, because the caller may reuse the buffer.
    if (room > 0) this.#head.push(Uint8Array.from(bytes.subarray(0, room)))
    this.#kept.head += Math.min(Math.max(room, 0), bytes.length)
    const rest = bytes.subarray(Math.max(room, 0)).slice(-this.#tailBytes)
    if (rest.length === 0) return
    this.#tail.push(rest)
    this.#kept.tail += rest.length
    if (this.#kept.tail > 2 * this.#tailBytes) this.#forget()
  }

  #forget(): void {
    const last = Buffer.concat(this.#tail).subarray(-this.#tailBytes)
    this.#tail = [last]
    this.#kept.tail = last.length
  }

  get text(): string {
    this.#forget()
    const missing = this.#size - this.#kept.head - this.#kept.tail
    if (missing === 0) return clean(Buffer.concat([...this.#head, ...this.#tail]).toString('utf8'))
    const head = clean(wholeLines(Buffer.concat(this.#head).toString('utf8')))
    const tail = clean(shortenStart(Buffer.concat(this.#tail).toString('utf8')))
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

/** As a terminal would show it, without colours: of a progress bar only the last state. */
function clean(text: string): string {
  const lines = Bun.stripANSI(text).replaceAll('\r\n', '\n').split('\n')
  const shown = lines.map((line) => line.replace(/\r+$/, '').replace(/^[^]*\r/, ''))
  return printableLines(shown.join('\n')).trimEnd().toWellFormed()
}
