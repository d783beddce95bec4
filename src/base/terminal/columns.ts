/** More code units per column are cut before measuring, so that long texts stay cheap. */
const UNITS_PER_COLUMN = 32

// Control characters, line separators, and changes of text direction.
const UNSAFE = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu

/** A text in which nothing moves the cursor or changes a mode of the terminal. */
export function safe(text: string): string {
  return text.replaceAll('\t', ' ').replaceAll(UNSAFE, '?').toWellFormed()
}

/** A text of at most `width` columns; `…` marks a cut. */
export function cut(text: string, width: number): string {
  const start = text.slice(0, width * UNITS_PER_COLUMN).toWellFormed()
  if (Bun.stringWidth(start) <= width && start.length >= text.length) return start
  // `sliceAnsi` keeps a wide character at the edge, which may be one column too many.
  for (let room = width; room > 0; room--) {
    const part = Bun.sliceAnsi(`${start}…`, 0, room, '…')
    if (Bun.stringWidth(part) <= width) return part
  }
  return ''
}

/** A text of exactly `width` columns. */
export function fit(text: string, width: number): string {
  const part = cut(text, width)
  return part + ' '.repeat(Math.max(0, width - Bun.stringWidth(part)))
}

/** The lines of a text, wrapped at words, none wider than `width` columns. */
export function wrap(text: string, width: number): string[] {
  const room = Math.max(2, width)
  return text.split('\n').flatMap((line) => {
    const clean = safe(line.replace(/\r$/, ''))
    if (clean.length * 2 <= room) return [clean]
    return Bun.wrapAnsi(clean, room, { hard: true, trim: false }).split('\n')
  })
}

export interface Paint {
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly reverse: (text: string) => string
  readonly red: (text: string) => string
  readonly green: (text: string) => string
  readonly yellow: (text: string) => string
  readonly cyan: (text: string) => string
}

/** Without colour, bold and reverse remain, so that the selection is still visible. */
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
