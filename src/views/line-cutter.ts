/** Far longer than any screen is wide. */
const LIMIT_BYTES = 2000
const NEWLINE = 10

/** Shortens lines for a terminal: one of ten megabytes would push everything else away. */
export class LineCutter {
  #column = 0
  #dropped = 0

  cut(bytes: Uint8Array): Uint8Array {
    if (this.#column + bytes.length <= LIMIT_BYTES && this.#dropped === 0) {
      const newline = bytes.lastIndexOf(NEWLINE)
      this.#column = newline === -1 ? this.#column + bytes.length : bytes.length - newline - 1
      return bytes
    }
    const parts: Uint8Array[] = []
    let from = 0
    while (from < bytes.length) {
      const newline = bytes.indexOf(NEWLINE, from)
      const end = newline === -1 ? bytes.length : newline
      this.#addPiece(bytes.subarray(from, end), parts)
      if (newline !== -1) this.#endLine(parts)
      from = end + 1
    }
    return Buffer.concat(parts)
  }

  #addPiece(piece: Uint8Array, parts: Uint8Array[]): void {
    let room = Math.min(piece.length, Math.max(0, LIMIT_BYTES - this.#column))
    if (this.#dropped > 0) room = 0
    // Not in the middle of a character: its further bytes look like 10xxxxxx.
    while (room > 0 && room < piece.length && (piece[room]! & 0xc0) === 0x80) room -= 1
    if (room > 0) parts.push(piece.subarray(0, room))
    this.#dropped += piece.length - room
    this.#column += piece.length
  }

  #endLine(parts: Uint8Array[]): void {
    const note =
      this.#dropped > 0 ? `\u001b[0m … ${this.#dropped} bytes more (-v shows all)\n` : '\n'
    parts.push(Buffer.from(note))
    this.#column = 0
    this.#dropped = 0
  }
}
