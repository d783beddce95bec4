import { characters, safe, type Paint } from '../terminal/columns.ts'
import { textOf, type EditedText } from '../terminal/line-editor.ts'
import type { Rows } from '../terminal/screen.ts'

const FIRST = '> '
const MORE = '  '
const LEAST_WIDTH = 4

/** The input as rows: none wider than the terminal, and at most `most` of them. */
export function promptRows(edit: EditedText, width: number, most: number, paint: Paint): Rows {
  const room = Math.max(LEAST_WIDTH, width) - 1
  const near = most === Infinity ? edit : nearCursor(edit)
  const parts = breakRows(shown(textOf(near)), room)
  const cursor = cursorIn(breakRows(shown(near.before), room), room)
  // If not all rows fit, those around the cursor are shown.
  const from = Math.max(0, Math.min(cursor.row - most + 1, parts.length - most))
  const to = Math.max(from + most, cursor.row + 1)
  const all = cursor.row === parts.length ? [...parts, MORE] : parts
  const rows = all.slice(from, to).map((row, index) => {
    const isMark = from + index === 0
    return isMark ? paint.cyan(row.slice(0, FIRST.length)) + row.slice(FIRST.length) : row
  })
  return { rows, cursor: { row: cursor.row - from, column: cursor.column } }
}

/** More than fits on a terminal, so the rest of a long paste is not measured. */
const LONGEST = 16_384

function nearCursor({ before, after }: EditedText): EditedText {
  const from = before.length > LONGEST ? before.indexOf('\n', before.length - LONGEST) + 1 : 0
  const start = from === 0 ? Math.max(0, before.length - LONGEST) : from
  return { before: before.slice(start), after: after.slice(0, LONGEST) }
}

function shown(text: string): string {
  return text.split('\n').map(safe).join('\n')
}

/** Each line with its prompt sign, wrapped at the edge of the terminal. */
function breakRows(text: string, room: number): string[] {
  return text.split('\n').flatMap((line, index) => breakLine(line, index === 0, room))
}

function breakLine(line: string, isFirst: boolean, room: number): string[] {
  const rows = [isFirst ? FIRST : MORE]
  let used = FIRST.length
  for (const character of characters(line)) {
    const width = Bun.stringWidth(character)
    if (used + width > room) {
      rows.push(MORE)
      used = MORE.length
    }
    rows[rows.length - 1] += character
    used += width
  }
  return rows
}

/** The position after the last of these rows. */
function cursorIn(rows: readonly string[], room: number): Rows['cursor'] {
  const column = Bun.stringWidth(rows.at(-1)!)
  return column < room + 1
    ? { row: rows.length - 1, column }
    : { row: rows.length, column: MORE.length }
}
