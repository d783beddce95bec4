const ESC = '\u001b'

/** Writes only the lines that differ from what the terminal shows. */
export class BoardScreen {
  #shown: readonly string[] = []
  #isUnknown = true

  /** Redraws everything next time, after another program wrote or the size changed. */
  forget(): void {
    this.#isUnknown = true
  }

  /** The output that makes the terminal show these lines; empty if nothing changed. */
  draw(lines: readonly string[]): string {
    const shown = this.#isUnknown ? [] : this.#shown
    const changes = lines.flatMap((line, index) => {
      return line === shown[index] ? [] : [`${ESC}[${index + 1};1H${ESC}[2K${line}${ESC}[0m`]
    })
    const isWhole = this.#isUnknown || lines.length < shown.length
    this.#shown = lines
    this.#isUnknown = false
    if (changes.length === 0 && !isWhole) return ''
    // Synchronized output: the terminal shows the frame at once or ignores the two sequences.
    return `${ESC}[?2026h${isWhole ? `${ESC}[2J` : ''}${changes.join('')}${ESC}[?2026l`
  }
}
