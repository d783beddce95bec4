import { printable } from '../base/terminal/printable.ts'
import { FOR_PIPE, wrapAt, type Layout } from './layout.ts'
import type { Paint } from './terminal/columns.ts'

/** A cell, and how it is painted. */
export type Cell = string | { readonly text: string; readonly look: keyof Paint }

interface Options {
  /** Columns that are right-aligned. */
  readonly right?: readonly number[]
  readonly head?: readonly string[]
  /** Printed before each line. */
  readonly indent?: string
  /** The column whose texts are wrapped if the lines would be wider than the terminal. */
  readonly flexible?: number
  readonly layout?: Layout
}

const GAP = 2
/** With less room, the texts of the last column go on lines of their own. */
const LEAST_ROOM = 24
/** In a narrower column, many words would be broken. */
const LEAST_WIDTH = 12

/** Lines with aligned columns; columns without any text are left out. */
export function renderTable(
  cells: readonly (readonly Cell[])[],
  { right = [], head, indent = '', flexible, layout = FOR_PIPE }: Options = {},
): string[] {
  const count = Math.max(0, ...cells.map((row) => row.length))
  const shown = [...Array(count).keys()].filter((column) =>
    cells.some((row) => textOf(row[column]) !== ''),
  )
  const heads = head === undefined ? [] : [head.map((text): Cell => ({ text, look: 'dim' }))]
  const rows = [...heads, ...cells].map((row) => shown.map((column) => row[column] ?? ''))
  const widths = shown.map((_, at) => Math.max(0, ...rows.map((row) => widthOf(row[at]))))
  const wide = flexible === undefined ? -1 : shown.indexOf(flexible)
  const others = widths.reduce((sum, width) => sum + width + GAP, indent.length - GAP)
  const room = (layout.width ?? Infinity) - others + (widths[wide] ?? 0)
  const isBelow = wide === shown.length - 1 && widths[wide]! > room && room < LEAST_ROOM
  if (wide !== -1) widths[wide] = isBelow ? 0 : Math.min(widths[wide]!, Math.max(room, LEAST_WIDTH))

  const renderCell = (cell: Cell, text: string, at: number): string => {
    const space = ' '.repeat(Math.max(0, widths[at]! - Bun.stringWidth(text)))
    const painted = text === '' || typeof cell === 'string' ? text : layout.paint[cell.look](text)
    return right.includes(shown[at]!) ? space + painted : painted + space
  }
  return rows.flatMap((row) => {
    const texts = row.map((cell, at) => {
      const text = printable(textOf(cell))
      if (at !== wide) return [text]
      return isBelow ? [''] : wrapAt(text, widths[at]!, true)
    })
    const height = Math.max(...texts.map((lines) => lines.length))
    const lines = Array.from({ length: height }, (_, line) =>
      row.map((cell, at) => renderCell(cell, texts[at]![line] ?? '', at)).join(' '.repeat(GAP)),
    )
    const below = isBelow ? printable(textOf(row[wide])) : ''
    const more =
      below === '' ? [] : wrapAt(below, layout.width! - indent.length - BELOW.length, false)
    return [...lines, ...more.map((text) => BELOW + text)].map((line) => indent + line.trimEnd())
  })
}

/** Indents the text of the flexible column if it is on lines of its own. */
const BELOW = '    '

function widthOf(cell: Cell | undefined): number {
  return Bun.stringWidth(printable(textOf(cell)))
}

function textOf(cell: Cell | undefined): string {
  return typeof cell === 'object' ? cell.text : (cell ?? '')
}
