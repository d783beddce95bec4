import { Fences } from '../../base/code-fences.ts'

interface Line {
  readonly start: number
  /** After the line end. */
  readonly end: number
  /** True in a code block and for its fences. */
  readonly isCode: boolean
}

/** The end of the line that begins at `start`, including its line end. */
export function lineEnd(text: string, start: number, limit = text.length): number {
  const newline = text.indexOf('\n', start)
  return newline === -1 || newline >= limit ? limit : newline + 1
}

/** The line number of an offset, starting at 1. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}

/** `from` must be outside any code block. */
export function markdownLines(text: string, from: number, to = text.length): Line[] {
  return takeLines(new CodeBlock(text), text, from, to)
}

function takeLines(block: CodeBlock, text: string, from: number, to: number): Line[] {
  const lines: Line[] = []
  for (let start = from; start < to;) {
    const end = lineEnd(text, start, to)
    lines.push({ start, end, isCode: block.take(start, end) })
    start = end
  }
  return lines
}

/** The fence that closes a code block that is still open at `to`; empty if none is. */
export function closingFence(text: string, from: number, to = text.length): string {
  const block = new CodeBlock(text)
  takeLines(block, text, from, to)
  return block.closing
}

/** Follows code blocks through the lines of a text. */
class CodeBlock {
  readonly #text: string
  readonly #fences = new Fences()
  #opening = ''

  constructor(text: string) {
    this.#text = text
  }

  /** Reads the next line; returns whether it belongs to a code block. */
  take(start: number, end: number): boolean {
    const line = this.#text.slice(start, end).trimEnd()
    if (!this.#fences.isInList && !/`{3}|~{3}/.test(line)) return this.#fences.isOpen
    const isFence = this.#fences.take(line)
    if (isFence && this.#fences.isOpen) this.#opening = line
    return isFence || this.#fences.isOpen
  }

  get closing(): string {
    if (!this.#fences.isOpen) return ''
    const at = this.#opening.search(/`{3}|~{3}/)
    const fence = /^(?:`+|~+)/.exec(this.#opening.slice(at))?.[0] ?? ''
    // In a list, the fence follows the bullet of its item.
    return this.#opening.slice(0, at).replaceAll(/[^\t]/g, ' ') + fence
  }
}
