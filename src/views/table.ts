import { printable } from '../base/terminal/printable.ts'

/** Lines with aligned columns; those in `right` are right-aligned. */
export function renderTable(
  cells: readonly (readonly string[])[],
  right: ReadonlySet<number> = new Set(),
): string[] {
  const rows = cells.map((row) => row.map(printable))
  const count = Math.max(0, ...rows.map((row) => row.length))
  const widths = Array.from({ length: count }, (_, column) =>
    Math.max(...rows.map((row) => Bun.stringWidth(row[column] ?? ''))),
  )
  const pad = (cell: string, column: number) => {
    const space = ' '.repeat(Math.max(0, widths[column]! - Bun.stringWidth(cell)))
    return right.has(column) ? space + cell : cell + space
  }
  return rows.map((row) => row.map(pad).join('  ').trimEnd())
}
