import { NO_PAINT, type Paint } from './terminal/columns.ts'

/** How a result is shown. */
export interface Layout {
  /** The width of the terminal; absent in pipes and files, where nothing is wrapped. */
  readonly width?: number | undefined
  readonly paint: Paint
}

export const FOR_PIPE: Layout = { paint: NO_PAINT }

/** Wraps our own line between words; rows after the first are indented. Commands and paths stay whole. */
export function wrapWords(line: string, { width }: Layout, indent = '    '): string[] {
  if (width === undefined || Bun.stringWidth(line) <= width) return [line]
  const isWhole = (word: string) => Bun.stringWidth(word) <= width - indent.length
  // The terminal breaks a long path or command in a way that can be copied.
  if (!line.split(' ').every(isWhole)) return [line]
  const [first = '', ...rest] = wrapAt(line, width, false)
  const more = wrapAt(rest.join(' '), width - indent.length, false)
  return rest.length === 0 ? [first] : [first, ...more.map((row) => indent + row)]
}

/** Rows of at most `width` columns; only with `isHard`, longer words are broken. */
export function wrapAt(text: string, width: number, isHard: boolean): string[] {
  if (Bun.stringWidth(text) <= width) return [text]
  return Bun.wrapAnsi(text, Math.max(2, width), { hard: isHard, wordWrap: true, trim: false })
    .split('\n')
    .map((row, index) => (index === 0 ? row : row.replace(/^ +/, '')).trimEnd())
}
