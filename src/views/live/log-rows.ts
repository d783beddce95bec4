import { reduceLine } from '../terminal/terminal-filter.ts'
import type { LogLine, LogLines } from './log-lines.ts'

/** A row of the screen, and the line that it belongs to. */
export interface LogRow {
  readonly text: string
  readonly kind: LogLine['kind']
  readonly line: number
}

/** What fits on the screen above a line, or after the beginning if that is less. */
export function logRows(lines: LogLines, bottom: number, width: number, height: number): LogRow[] {
  let above: LogRow[] = []
  let from = Math.min(bottom, lines.end)
  while (from > lines.first && above.length < height)
    above = [...rowsAt(lines, --from, width), ...above]
  const rows = above.slice(-height)
  for (let next = Math.max(bottom, lines.first); rows.length < height && next < lines.end; next++)
    rows.push(...rowsAt(lines, next, width))
  return rows.slice(0, height)
}

function rowsAt(lines: LogLines, line: number, width: number): LogRow[] {
  const { text, kind } = lines.at(line)!
  const shown = printableLine(text)
  return Bun.wrapAnsi(shown, Math.max(1, width), { hard: true, trim: false })
    .split('\n')
    .map((row, index) => ({ text: index === 0 ? row : row.replace(/^ /, ''), kind, line }))
}

const TAB = '    '
/** Links of the terminal, which could not be told apart from text after a cut. */
// oxlint-disable-next-line no-control-regex
const LINK = /\u001b\]8;[^\u001b]*\u001b\\/g

/** Only colours are left of what an agent printed; a carriage return starts the line over. */
function printableLine(text: string): string {
  const end = text.replace(/\r+$/, '')
  const last = end.slice(end.lastIndexOf('\r') + 1)
  return reduceLine(last.replaceAll('\t', TAB)).replaceAll(LINK, '').toWellFormed()
}
