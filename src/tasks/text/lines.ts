import { Fences } from '../../base/fences.ts'

/** A line of Markdown, as a place in the text. */
interface Line {
  readonly start: number
  /** Behind its line end. */
  readonly end: number
  /** Whether it is in a code block, or one of the fences around it. */
  readonly isCode: boolean
}

/** Where the line that begins at `start` ends, its line end included. */
export function lineEnd(text: string, start: number, limit = text.length): number {
  const newline = text.indexOf('\n', start)
  return newline === -1 || newline >= limit ? limit : newline + 1
}

/** The number of the line at an offset; the first is 1. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}

/** The lines of a piece of Markdown that begins outside of any code block. */
export function markdownLines(text: string, from: number, to = text.length): Line[] {
  const block = new CodeBlock(text)
  const lines: Line[] = []
  for (let start = from; start < to;) {
    const end = lineEnd(text, start, to)
    lines.push({ start, end, isCode: block.take(start, end) })
    start = end
  }
  return lines
}

/** The line that closes the code block in which a piece of Markdown ends; empty where it is none. */
export function closingFence(text: string, from: number, to = text.length): string {
  const block = new CodeBlock(text)
  for (let start = from; start < to;) {
    const end = lineEnd(text, start, to)
    block.take(start, end)
    start = end
  }
  return block.closing
}

/** Follows code blocks through the lines of a text. */
class CodeBlock {
  readonly #text: string
  readonly #fences = new Fences(() => undefined)
  /** Where the next of each sign is: to turn every line into bytes would cost more than the rest. */
  readonly #next = { '```': -1, '~~~': -1 }
  #opening = ''

  constructor(text: string) {
    this.#text = text
  }

  /** Takes the next line; true where it belongs to a code block. */
  take(start: number, end: number): boolean {
    const mayBeFence = this.#has('```', start, end) || this.#has('~~~', start, end)
    if (!mayBeFence && !this.#fences.isInList) return this.#fences.isOpen
    const line = this.#text.slice(start, end).trimEnd()
    const bytes = Buffer.from(line)
    const isFence = this.#fences.take(bytes, 0, bytes.length)
    if (isFence && this.#fences.isOpen) this.#opening = line
    return isFence || this.#fences.isOpen
  }

  get closing(): string {
    if (!this.#fences.isOpen) return ''
    const at = this.#opening.search(/`{3}|~{3}/)
    const fence = /^(?:`+|~+)/.exec(this.#opening.slice(at))?.[0] ?? ''
    // In a list the fence stands behind the sign of its item.
    return this.#opening.slice(0, at).replaceAll(/[^\t]/g, ' ') + fence
  }

  #has(sign: '```' | '~~~', start: number, end: number): boolean {
    if (this.#next[sign] < start) {
      const at = this.#text.indexOf(sign, start)
      this.#next[sign] = at === -1 ? Number.POSITIVE_INFINITY : at
    }
    return this.#next[sign] < end
  }
}
