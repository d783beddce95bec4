/** Far more than the width of a terminal. */
const LIMIT = 2000

/** Shortens very long lines, which would push everything else off the terminal. */
export class LineCutter {
  #column = 0
  #droppedBytes = 0
  /** A carriage return held back after a cut line, because it may be part of the line end. */
  #return = false

  cut(text: string): string {
    return text.replaceAll(/\n|\r|[^\r\n]+/g, (piece) => {
      if (piece === '\n') return `${this.finishLine()}\n`
      return piece === '\r' ? this.#goBack() : this.#add(piece)
    })
  }

  /** What to print at the end of a line, or before another writer ends it. */
  finishLine(): string {
    const more = this.#droppedBytes
    const note = more > 0 ? `\u001b[0m … ${more} bytes more (-v shows all)` : ''
    const back = this.#return ? '\r' : ''
    this.#column = 0
    this.#droppedBytes = 0
    this.#return = false
    return `${note}${back}`
  }

  /** A carriage return starts the line over, as progress displays do. */
  #goBack(): string {
    this.#return = this.#droppedBytes > 0
    if (this.#return) return ''
    this.#column = 0
    return '\r'
  }

  #add(piece: string): string {
    if (this.#return) this.#droppedBytes = 0
    const start = this.#return ? this.finishLine() : ''
    // A character outside the BMP must not be cut in two.
    const kept = piece.slice(0, Math.max(0, LIMIT - this.#column)).replace(/[\ud800-\udbff]$/, '')
    this.#column += piece.length
    this.#droppedBytes += Buffer.byteLength(piece.slice(kept.length))
    return start + kept
  }
}
