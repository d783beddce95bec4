const TAB = 9
const NEWLINE = 10
const SPACE = 32
const TICK = 96
const TILDE = 126
const DOT = 46
const PARENTHESIS = 41
const BULLETS = [42, 43, 45]

/**
 * Follows CommonMark's code fences from line to line. It works on bytes: a text with many fences
 * would cost ten times as much if each of its lines became a string.
 */
export class Fences {
  readonly #onEnd: () => void
  /** What the open fence is made of, or 0 where none is open. */
  #mark = 0
  #length = 0
  /** A line that begins before this column is outside: it ended the list that holds the fence. */
  #inside = 0
  /** The last column in which the closing fence may begin. */
  #deepest = 3

  /** `onEnd` is told when a block ends: by its closing fence, or with the list that holds it. */
  constructor(onEnd: () => void) {
    this.#onEnd = onEnd
  }

  get isOpen(): boolean {
    return this.#mark !== 0
  }

  /** Whether the block stands in a list, so that any line may be the one that ends it. */
  get isInList(): boolean {
    return this.isOpen && this.#inside > 0
  }

  /** Takes the line from `start` to `end`; true where it is a fence. */
  take(bytes: Uint8Array, start: number, end: number): boolean {
    const text = skipBlanks(bytes, start, end)
    if (isBlank(bytes, text, end)) return false
    const indent = columnsOf(bytes, start, text)
    if (this.isOpen && indent < this.#inside) this.#end()
    const at = this.isOpen ? text : skipListSigns(bytes, text, end)
    const mark = at < end ? bytes[at]! : NEWLINE
    if (mark !== TICK && mark !== TILDE) return false
    let rest = at
    while (rest < end && bytes[rest] === mark) rest += 1
    if (rest - at < 3) return false
    if (this.isOpen) {
      if (mark !== this.#mark || rest - at < this.#length || indent > this.#deepest) return false
      if (!isBlank(bytes, rest, end)) return false
      this.#end()
    } else {
      // Backticks with more of them behind on the same line are a span, not a fence.
      if (mark === TICK && hasByte(TICK, bytes, rest, end)) return false
      this.#begin(mark, rest - at, columnsOf(bytes, start, at), at > text)
    }
    return true
  }

  #begin(mark: number, length: number, column: number, isInItem: boolean): void {
    this.#mark = mark
    this.#length = length
    // Four columns deep it can only be a fence inside of a list, whose own depth is not known here.
    this.#inside = isInItem ? column : Math.max(0, column - 3)
    this.#deepest = isInItem || column >= 4 ? column + 3 : 3
  }

  #end(): void {
    this.#mark = 0
    this.#onEnd()
  }
}

function skipBlanks(bytes: Uint8Array, from: number, end: number): number {
  let at = from
  while (at < end && (bytes[at] === SPACE || bytes[at] === TAB)) at += 1
  return at
}

/** A fence may stand behind the sign of a list item: "- " or "12. ", and items may be nested. */
function skipListSigns(bytes: Uint8Array, from: number, end: number): number {
  let at = from
  while (bytes[at] !== TICK && bytes[at] !== TILDE) {
    const behind = skipListSign(bytes, at, end)
    if (behind === at) break
    at = skipBlanks(bytes, behind, end)
  }
  return at
}

function skipListSign(bytes: Uint8Array, from: number, end: number): number {
  let at = from
  while (at < end && at - from < 9 && isDigit(bytes[at]!)) at += 1
  const sign = bytes[at]!
  const isSign = at === from ? BULLETS.includes(sign) : sign === DOT || sign === PARENTHESIS
  if (!isSign || at + 1 >= end) return from
  return bytes[at + 1] === SPACE || bytes[at + 1] === TAB ? at + 1 : from
}

function isDigit(byte: number): boolean {
  return byte >= 48 && byte <= 57
}

function hasByte(byte: number, bytes: Uint8Array, from: number, end: number): boolean {
  for (let at = from; at < end; at += 1) if (bytes[at] === byte) return true
  return false
}

/** Nothing but white space, the return of a Windows line end included. */
function isBlank(bytes: Uint8Array, from: number, end: number): boolean {
  for (let at = from; at < end; at += 1) {
    const byte = bytes[at]!
    if (byte !== SPACE && (byte < TAB || byte > 13 || byte === NEWLINE)) return false
  }
  return true
}

/** How many columns the bytes take; a tab leads to the next multiple of four. */
function columnsOf(bytes: Uint8Array, from: number, end: number): number {
  let column = 0
  for (let at = from; at < end; at += 1) column += bytes[at] === TAB ? 4 - (column % 4) : 1
  return column
}
