const FENCE = /^([ \t]*)(`{3,}|~{3,})(.*)/s
/** A fence may follow the marker of a list item, "- " or "12. ", and items may be nested. */
const FENCE_IN_ITEM = /^([ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(`{3,}|~{3,})(.*)/s

/** Tracks CommonMark code fences line by line. */
export class Fences {
  readonly #onEnd: () => void
  /** The open fence, or an empty text. */
  #fence = ''
  /** A line that begins before this column ends the list that contains the fence. */
  #inside = 0
  /** The last column in which the closing fence may begin. */
  #deepest = 3

  /** `onEnd` is called when a block ends, by its closing fence or with the list that contains it. */
  constructor(onEnd: () => void = () => undefined) {
    this.#onEnd = onEnd
  }

  get isOpen(): boolean {
    return this.#fence !== ''
  }

  /** Whether the block is in a list, so that any line may end it. */
  get isInList(): boolean {
    return this.isOpen && this.#inside > 0
  }

  /** Reads the next line; true if it is a fence. */
  take(line: string): boolean {
    if (isBlank(line)) return false
    const indent = columnsOf(/^[ \t]*/.exec(line)![0])
    if (this.isOpen && indent < this.#inside) this.#end()
    const pattern = this.isOpen ? FENCE : FENCE_IN_ITEM
    const [, before = '', fence, rest = ''] = pattern.exec(line) ?? []
    if (fence === undefined) return false
    if (this.isOpen) {
      const isClosing = fence.startsWith(this.#fence) && indent <= this.#deepest && isBlank(rest)
      if (isClosing) this.#end()
      return isClosing
    }
    // More backticks later on the same line make it a code span, not a fence.
    if (fence.startsWith('`') && rest.includes('`')) return false
    const column = columnsOf(before)
    const isInItem = before.trim() !== ''
    this.#fence = fence
    // A fence indented by four columns must be in a list, whose own depth is not known here.
    this.#inside = isInItem ? column : Math.max(0, column - 3)
    this.#deepest = isInItem || column >= 4 ? column + 3 : 3
    return true
  }

  #end(): void {
    this.#fence = ''
    this.#onEnd()
  }
}

/** Only white space, including the carriage return of a Windows line end. */
function isBlank(text: string): boolean {
  return /^[ \t\v\f\r]*$/.test(text)
}

/** The width in columns; a tab advances to the next multiple of four. */
function columnsOf(text: string): number {
  let column = 0
  for (const character of text) column += character === '\t' ? 4 - (column % 4) : 1
  return column
}
