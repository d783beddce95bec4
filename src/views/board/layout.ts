import type { Size } from '../../base/terminal/tty.ts'
import { STATUSES } from '../../tasks/status.ts'

export interface Layout {
  /** How many columns fit side by side. */
  readonly columns: number
  /** Whether the name of the project has a line of its own. */
  readonly hasTitle: boolean
  readonly cardHeight: 1 | 3
  readonly rowsPerColumn: number
  /** The lines between the title and the footer. */
  readonly pageHeight: number
}

const NARROWEST_COLUMN = 18
const HEIGHT_FOR_TITLE = 8
const HEIGHT_FOR_WHOLE_CARDS = 12

export function layoutOf({ width, height }: Size): Layout {
  const hasTitle = height >= HEIGHT_FOR_TITLE
  const pageHeight = Math.max(1, height - (hasTitle ? 2 : 1))
  const cardHeight = height >= HEIGHT_FOR_WHOLE_CARDS ? 3 : 1
  return {
    columns: Math.max(1, Math.min(STATUSES.length, Math.floor(width / NARROWEST_COLUMN))),
    hasTitle,
    cardHeight,
    rowsPerColumn: Math.max(1, Math.floor((pageHeight - 1) / cardHeight)),
    pageHeight,
  }
}
