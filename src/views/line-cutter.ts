/** Far more than the width of a terminal. */
const LIMIT_BYTES = 2000
const NEWLINE = 10
const RETURN = 13

/** Shortens very long lines for a terminal, where they would scroll everything else away. */
export class LineCutter {
  #column = 0
  #dropped = 0
  /** A carriage return held back after a cut line: it may be part of the line end. */
  #return = false

  cut(bytes: Uint8Array): Uint8Array {
    const parts: Uint8Array[] = []
    let from = 0
    while (from < bytes.length) {
      const end = endOfPiece(bytes, from)
      if (end > from) this.#addPiece(bytes.subarray(from, end), parts)
      if (bytes[end] === NEWLINE) parts.push(Buffer.from(`${this.finishLine()}\n`))
      if (bytes[end] === RETURN) this.#goBack(parts)
      from = end + 1
    }
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
  }

  /** What to print at the end of a line, or before another writer ends it. */
  finishLine(): string {
    const note = this.#dropped > 0 ? `\u001b[0m … ${this.#dropped} bytes more (-v shows all)` : ''
    const back = this.#return ? '\r' : ''
    this.#column = 0
    this.#dropped = 0
    this.#return = false
    return `${note}${back}`
  }

  /** A carriage return starts the line over, as progress displays do. */
  #goBack(parts: Uint8Array[]): void {
    if (this.#dropped > 0) {
      this.#return = true
    } else {
      parts.push(Buffer.from('\r'))
      this.#column = 0
    }
  }

  #addPiece(piece: Uint8Array, parts: Uint8Array[]): void {
    if (this.#return) {
      this.#dropped = 0
      parts.push(Buffer.from(this.finishLine()))
    }
    let kept = Math.min(piece.length, Math.max(0, LIMIT_BYTES - this.#column))
    // Do not cut inside of a character: its further bytes are 10xxxxxx.
    const isInside = (at: number) => at < piece.length && (piece[at]! & 0xc0) === 0x80
    if (kept === 0 && this.#dropped === 0) while (isInside(kept)) kept += 1
    else while (kept > 0 && isInside(kept)) kept -= 1
    if (kept > 0) parts.push(piece.subarray(0, kept))
    this.#dropped += piece.length - kept
    this.#column += piece.length
  }
}

function endOfPiece(bytes: Uint8Array, from: number): number {
  const ends = [bytes.indexOf(NEWLINE, from), bytes.indexOf(RETURN, from)].filter((at) => at !== -1)
  return Math.min(bytes.length, ...ends)
}
