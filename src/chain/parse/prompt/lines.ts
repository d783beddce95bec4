/** A line of a text, without its line break. */
export interface Line {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** The lines from `start` on, lazily: most of a long text is never needed. */
export function* linesFrom(text: string, start: number): Generator<Line> {
  for (let from = start; from <= text.length;) {
    const newline = text.indexOf('\n', from)
    const next = newline === -1 ? text.length : newline
    yield makeLine(text, from, next)
    from = next + 1
  }
}

/** The lines from the end backwards to the one that begins at `start`. */
export function* linesBack(text: string, start: number): Generator<Line> {
  for (let to = text.length; to >= start;) {
    const from = to === start ? start : Math.max(start, text.lastIndexOf('\n', to - 1) + 1)
    yield makeLine(text, from, to)
    to = from - 1
  }
}

function makeLine(text: string, start: number, newline: number): Line {
  const isCrlf = newline > start && text[newline - 1] === '\r' && text[newline] === '\n'
  const end = isCrlf ? newline - 1 : newline
  return { start, end, text: text.slice(start, end) }
}

export function isBlank(line: Line): boolean {
  return line.text.trim() === ''
}

/** Line numbers of offsets, which must be asked for in ascending order. */
export class LineNumbers {
  readonly #text: string
  #number = 1
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  numberAt(offset: number): number {
    let newline = this.#text.indexOf('\n', this.#at)
    while (newline !== -1 && newline < offset) {
      this.#number += 1
      newline = this.#text.indexOf('\n', newline + 1)
    }
    this.#at = Math.max(this.#at, offset)
    return this.#number
  }
}
