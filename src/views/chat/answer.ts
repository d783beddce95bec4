import { safe } from '../../base/terminal/columns.ts'
import { characters } from '../../base/terminal/graphemes.ts'

/** An answer while it comes: rows that are full stay, the last one is still being written. */
export class AnswerRows {
  #tail = ''
  #hasSpoken = false

  /** The row that is not full yet; undefined between two answers. */
  get tail(): string | undefined {
    return this.#hasSpoken ? this.#tail : undefined
  }

  /** Takes a piece; gives the rows that are full. */
  push(piece: string, width: number): string[] {
    this.#hasSpoken = true
    const lines = (this.#tail + piece).replaceAll('\r', '').split('\n')
    const rows = lines.map((line) => wrapLine(safe(line.replaceAll('\t', '    ')), width - 1))
    const last = rows.pop()!
    this.#tail = last.pop()!
    return [...rows.flat(), ...last]
  }

  /** The answer is over; gives what is left of it. */
  end(): string[] {
    const rest = this.#hasSpoken && this.#tail !== '' ? [this.#tail] : []
    this.#tail = ''
    this.#hasSpoken = false
    return rest
  }
}

const LEAST_WIDTH = 2

/** Wraps between words where possible. The last word may still grow. */
export function wrapLine(line: string, width: number): string[] {
  const room = Math.max(LEAST_WIDTH, width)
  const rows: string[] = []
  let rest = line
  while (Bun.stringWidth(rest) > room) {
    const part = fitting(rest, room)
    const space = part.lastIndexOf(' ')
    // Spaces before the first word are how it is indented.
    const isWords = space > 0 && part.slice(0, space).trim() !== ''
    const end = isWords ? space + 1 : part.length
    rows.push(part.slice(0, end).trimEnd())
    rest = rest.slice(end)
  }
  return [...rows, rest]
}

/** As many characters as fit, and one in any case. */
function fitting(text: string, room: number): string {
  let [part, used] = ['', 0]
  for (const character of characters(text.slice(0, room * 8))) {
    used += Bun.stringWidth(character)
    if (used > room && part !== '') return part
    part += character
  }
  return part
}
