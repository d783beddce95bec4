const ESC = '\u001b'

/** Knows what the terminal shows, and what has to be written for it to show something else. */
export class Screen {
  #shown: readonly string[] = []
  #isUnknown = true

  /** Somebody else wrote there, or its size changed. */
  forget(): void {
    this.#isUnknown = true
  }

  /** What makes the terminal show these lines, for one write; empty where it does already. */
  draw(lines: readonly string[]): string {
    const shown = this.#isUnknown ? [] : this.#shown
    const changes = lines.flatMap((line, index) => {
      return line === shown[index] ? [] : [`${ESC}[${index + 1};1H${ESC}[2K${line}${ESC}[0m`]
    })
    const isWhole = this.#isUnknown || lines.length < shown.length
    this.#shown = lines
    this.#isUnknown = false
    if (changes.length === 0 && !isWhole) return ''
    // Synchronised: the terminal shows all of it at once, or ignores the two marks.
    return `${ESC}[?2026h${isWhole ? `${ESC}[2J` : ''}${changes.join('')}${ESC}[?2026l`
  }
}
