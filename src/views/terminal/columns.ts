/** Text beyond this many code units per column is cut before measuring, so that long texts stay cheap. */
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

/** The lines of a text, wrapped between words where possible, none wider than `width` columns. */
export function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap((line) => wrapLine(safe(line.replace(/\r$/, '')), width))
}

/** Wraps a safe line. Indentation stays, spaces at a line break do not. */
export function wrapLine(line: string, width: number): string[] {
  const room = Math.max(2, width)
  const rows: string[] = []
  let rest = line
  for (;;) {
    const part = fitting(rest, room)
    if (part.length === rest.length) return [...rows, rest]
    const space = part.lastIndexOf(' ')
    const end = part.slice(0, space + 1).trim() === '' ? part.length : space + 1
    rows.push(part.slice(0, end).trimEnd())
    rest = rest.slice(end)
  }
}

/** As many characters as fit, at least one. */
function fitting(text: string, room: number): string {
  // The next character must not be a mark that belongs to the last one.
  if (/^[ -~]*$/.test(text.slice(0, room + 1))) return text.slice(0, room)
  let [part, used] = ['', 0]
  for (const { segment } of graphemes.segment(text.slice(0, room * UNITS_PER_COLUMN))) {
    used += Bun.stringWidth(segment)
    if (used > room && part !== '') return part
    part += segment
  }
  return part
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** The characters of a text, as people count them. */
export function characters(text: string): string[] {
  return Array.from(graphemes.segment(text), ({ segment }) => segment)
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

/** For pipes and files. */
export const NO_PAINT: Paint = {
  bold: String,
  dim: String,
  reverse: String,
  red: String,
  green: String,
  yellow: String,
  cyan: String,
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
