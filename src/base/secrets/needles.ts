export interface Needle {
  /** At least three bytes, as Latin-1. */
  readonly text: string
  /** How far before the needle its secret may begin. */
  readonly back: number
}

/** The state of a search. */
interface Position {
  readonly end: number
  readonly row: number
}

/** A needle that was found; `end` is the position after its last byte. */
interface Hit extends Position {
  /** How far before `end` the secret may begin. */
  readonly reach: number
}

export function startAt(place: number): Position {
  return { end: place, row: 0 }
}

// The first columns of a row: how far before this position a secret may begin (0 if no needle ends
// here), the row of the fallback, and the next row for all bytes that are in no needle.
const REACH = 0
const FALLBACK = 1
const OTHER = 2

/**
 * Finds many short byte sequences in one pass (Aho-Corasick). Each byte takes one step, whatever the
 * text is.
 */
export class Needles {
  /** The column of each byte; bytes that are in no needle share one. */
  readonly #columns = new Uint16Array(256).fill(OTHER)
  readonly #width: number
  /** One row per state, with the row of the next state for each byte. */
  readonly #rows: Int32Array
  /** The largest reach of all needles. */
  readonly farthest: number

  constructor(needles: readonly Needle[]) {
    let [width, states] = [OTHER + 1, 1]
    for (const { text } of needles) {
      states += text.length
      for (let at = 0; at < text.length; at += 1) {
        const byte = text.charCodeAt(at)
        if (this.#columns[byte] === OTHER) this.#columns[byte] = width++
      }
    }
    this.#width = width
    this.#rows = new Int32Array(states * width)
    this.#build(needles)
    this.farthest = Math.max(0, ...needles.map(reachOf))
  }

  /** The next needle after a position, ordered by their ends; needles with the same end are one hit. */
  next(bytes: Uint8Array, position: Position): Hit | undefined {
    const [rows, columns] = [this.#rows, this.#columns]
    let { row } = position
    for (let at = position.end; at < bytes.length; at += 1) {
      row = rows[row + columns[bytes[at]!]!]!
      const reach = rows[row + REACH]!
      if (reach !== 0) return { end: at + 1, row, reach }
    }
    return undefined
  }

  /**
   * Builds the states level by level. If no needle continues with a byte, a state acts like its
   * fallback: the longest suffix of what was read that begins a needle.
   */
  #build(needles: readonly Needle[]): void {
    const [rows, columns, width] = [this.#rows, this.#columns, this.#width]
    let open = needles.map((needle) => ({ ...needle, row: 0 }))
    let end = width
    for (let depth = 0; open.length > 0; depth += 1) {
      const first = end
      for (const needle of open) {
        const { text, row } = needle
        const column = columns[text.charCodeAt(depth)]!
        let next = rows[row + column]!
        if (next < first) {
          const fallback = depth === 0 ? 0 : rows[rows[row + FALLBACK]! + column]!
          next = end
          end += width
          rows[row + column] = next
          rows[next + REACH] = rows[fallback + REACH]!
          rows[next + FALLBACK] = fallback
        }
        needle.row = next
        if (text.length === depth + 1)
          rows[next + REACH] = Math.max(rows[next + REACH]!, reachOf(needle))
      }
      open = open.filter(({ text }) => text.length > depth + 1)
      for (let row = first; row < end; row += width) {
        const fallback = rows[row + FALLBACK]!
        rows.copyWithin(row + OTHER, fallback + OTHER, fallback + width)
      }
    }
  }
}

function reachOf({ text, back }: Needle): number {
  return text.length + back
}
