/** How many code units one column of a terminal is worth at most; more is cut before it is measured. */
const UNITS_PER_COLUMN = 32

// Control characters, line separators, and what turns the direction of the text around it.
const UNSAFE = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu

/** Text of a file as a terminal may get it: nothing in it moves the cursor or changes a mode. */
export function safe(text: string): string {
  return text.replaceAll('\t', ' ').replaceAll(UNSAFE, '?').toWellFormed()
}

/** At most so many columns; what is missing is shown as `…`. */
export function cut(text: string, width: number): string {
  const start = text.slice(0, width * UNITS_PER_COLUMN).toWellFormed()
  if (Bun.stringWidth(start) <= width && start.length >= text.length) return start
  // A wide character on the edge is given as a whole, and is one column too many.
  for (let room = width; room > 0; room--) {
    const part = Bun.sliceAnsi(`${start}…`, 0, room, '…')
    if (Bun.stringWidth(part) <= width) return part
  }
  return ''
}

/** Exactly so many columns. */
export function fit(text: string, width: number): string {
  const part = cut(text, width)
  return part + ' '.repeat(Math.max(0, width - Bun.stringWidth(part)))
}

/** The lines of a text of any length, broken at words, none wider than the given columns. */
export function wrap(text: string, width: number): string[] {
  const room = Math.max(2, width)
  return text.split('\n').flatMap((line) => {
    const clean = safe(line.replace(/\r$/, ''))
    if (clean.length * 2 <= room) return [clean]
    return Bun.wrapAnsi(clean, room, { hard: true, trim: false }).split('\n')
  })
}

/** The looks that text can have. */
export interface Paint {
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly reverse: (text: string) => string
  readonly red: (text: string) => string
  readonly green: (text: string) => string
  readonly yellow: (text: string) => string
  readonly cyan: (text: string) => string
}

/** Without colour the selection still is to be seen: bold and reverse are no colours. */
export function makePaint(hasColour: boolean): Paint {
  const code = (on: number, off: number) => (text: string) => `\u001b[${on}m${text}\u001b[${off}m`
  const colour = (on: number) => (hasColour ? code(on, 39) : (text: string) => text)
  return {
    bold: code(1, 22),
    dim: code(2, 22),
    reverse: code(7, 27),
    red: colour(31),
    green: colour(32),
    yellow: colour(33),
    cyan: colour(36),
  }
}
