const TAB = 9
const NEWLINE = 10
const SPACE = 32
const TICK = 96
const TILDE = 126
const DOT = 46
const PARENTHESIS = 41
const BULLETS = [42, 43, 45]

/**
 * Tracks CommonMark code fences line by line. It works on bytes because decoding every line of a
 * text with many fences is ten times slower.
 */
export class Fences {
  readonly #onEnd: () => void
  /** The character of the open fence, or 0 if none is open. */
  #mark = 0
  #length = 0
  /** A line that begins before this column ends the list that contains the fence. */
  #inside = 0
  /** The last column in which the closing fence may begin. */
  #deepest = 3

  /** `onEnd` is called when a block ends, by its closing fence or with the list that contains it. */
  constructor(onEnd: () => void) {
    this.#onEnd = onEnd
  }

  get isOpen(): boolean {
    return this.#mark !== 0
  }

  /** Whether the block is in a list, so that any line may end it. */
  get isInList(): boolean {
    return this.isOpen && this.#inside > 0
  }

  /** Reads the line from `start` to `end`; true if it is a fence. */
  take(bytes: Uint8Array, start: number, end: number): boolean {
    const text = skipBlanks(bytes, start, end)
    if (isBlank(bytes, text, end)) return false
    const indent = columnsOf(bytes, start, text)
    if (this.isOpen && indent < this.#inside) this.#end()
    const at = this.isOpen ? text : skipListMarkers(bytes, text, end)
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
      // More backticks later on the same line make it a code span, not a fence.
      if (mark === TICK && hasByte(TICK, bytes, rest, end)) return false
      this.#begin(mark, rest - at, columnsOf(bytes, start, at), at > text)
    }
    return true
  }

  #begin(mark: number, length: number, column: number, isInItem: boolean): void {
    this.#mark = mark
    this.#length = length
    // A fence indented by four columns must be in a list, whose own depth is not known here.
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

/** A fence may follow the marker of a list item, "- " or "12. ", and items may be nested. */
function skipListMarkers(bytes: Uint8Array, from: number, end: number): number {
  let at = from
  while (bytes[at] !== TICK && bytes[at] !== TILDE) {
    const after = skipListMarker(bytes, at, end)
    if (after === at) break
    at = skipBlanks(bytes, after, end)
  }
  return at
}

function skipListMarker(bytes: Uint8Array, from: number, end: number): number {
  let at = from
  while (at < end && at - from < 9 && isDigit(bytes[at]!)) at += 1
  const marker = bytes[at]!
  const isMarker = at === from ? BULLETS.includes(marker) : marker === DOT || marker === PARENTHESIS
  if (!isMarker || at + 1 >= end) return from
  return bytes[at + 1] === SPACE || bytes[at + 1] === TAB ? at + 1 : from
}

function isDigit(byte: number): boolean {
  return byte >= 48 && byte <= 57
}

function hasByte(byte: number, bytes: Uint8Array, from: number, end: number): boolean {
  for (let at = from; at < end; at += 1) if (bytes[at] === byte) return true
  return false
}

/** Only white space, including the carriage return of a Windows line end. */
function isBlank(bytes: Uint8Array, from: number, end: number): boolean {
  for (let at = from; at < end; at += 1) {
    const byte = bytes[at]!
    if (byte !== SPACE && (byte < TAB || byte > 13 || byte === NEWLINE)) return false
  }
  return true
}

/** The width in columns; a tab advances to the next multiple of four. */
function columnsOf(bytes: Uint8Array, from: number, end: number): number {
  let column = 0
  for (let at = from; at < end; at += 1) column += bytes[at] === TAB ? 4 - (column % 4) : 1
  return column
}
