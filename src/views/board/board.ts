import type { Brief } from '../../tasks/view.ts'
import { STATUSES, type Status } from '../../tasks/status.ts'
import { cardLines } from './card-lines.ts'
import type { EditedText } from '../terminal/line-editor.ts'
import type { Size } from '../terminal/tty.ts'
import { makeColumns, type Card, type Snapshot } from './snapshot.ts'

export interface Board {
  readonly name: string
  readonly size: Size
  readonly snapshot: Snapshot
  readonly filter: string
  readonly isOnlyReady: boolean
  readonly columns: readonly (readonly Card[])[]
  /** The selected column, and for each column the selected and the first visible row. */
  readonly column: number
  readonly rows: readonly number[]
  readonly tops: readonly number[]
  readonly open: OpenCard | undefined
  readonly prompt: BoardPrompt | undefined
  readonly message: Message | undefined
}

interface OpenCard {
  readonly brief: Brief
  readonly cursor: number
  readonly top: number
}

/** The open question; its task is fixed when it opens. */
export type BoardPrompt =
  | { readonly kind: 'help'; readonly top: number }
  | { readonly kind: 'status' | 'priority'; readonly id: string }
  | { readonly kind: 'take'; readonly id: string; readonly status: Status; readonly owner: string }
  | { readonly kind: 'assign'; readonly id: string; readonly line: EditedText }
  | { readonly kind: 'filter' | 'create'; readonly line: EditedText }

interface Message {
  readonly text: string
  readonly isError: boolean
}

export function makeBoard(name: string, size: Size, snapshot: Snapshot): Board {
  const columns = makeColumns(snapshot, { words: '', isOnlyReady: false })
  const first = columns.findIndex((cards) => cards.length > 0)
  return {
    name,
    size,
    snapshot,
    filter: '',
    isOnlyReady: false,
    columns,
    column: Math.max(0, first),
    rows: STATUSES.map(() => 0),
    tops: STATUSES.map(() => 0),
    open: undefined,
    prompt: undefined,
    message: undefined,
  }
}

/** The open card, otherwise the selected one. */
export function selectedCard(board: Board): Card | undefined {
  const id = board.open?.brief.task.id
  if (id !== undefined) return board.snapshot.cards.find(({ task }) => task.id === id)
  return board.columns[board.column]?.[board.rows[board.column] ?? 0]
}

/** Replaces the tasks or the filter; the selection stays on the same task. */
export function showCards(
  board: Board,
  change: Partial<Pick<Board, 'snapshot' | 'filter' | 'isOnlyReady'>>,
): Board {
  const next = { ...board, ...change }
  const { filter: words, isOnlyReady } = next
  const columns = makeColumns(next.snapshot, { words, isOnlyReady })
  const rows = columns.map((cards, column) => {
    const row = board.rows[column] ?? 0
    const found = indexOf(cards, board.columns[column]?.[row]?.task.id)
    return found === -1 ? row : found
  })
  const id = board.columns[board.column]?.[board.rows[board.column] ?? 0]?.task.id
  const selected = selectId({ ...next, columns, rows }, id)
  return change.snapshot === undefined ? selectMatch(selected) : selected
}

/** Moves the selection out of a column that the filter has emptied. */
function selectMatch(board: Board): Board {
  const column = board.columns.findIndex((cards) => cards.length > 0)
  const isVoid = board.columns[board.column]?.length === 0
  return isVoid && column !== -1 ? keepInView({ ...board, column }) : board
}

/** Selects a task in any column; if the task is not on the board, the selection stays. */
export function selectId(board: Board, id: string | undefined): Board {
  const rows = board.columns.map((cards) => indexOf(cards, id))
  const column = rows.findIndex((row) => row !== -1)
  if (column === -1) return keepInView(board)
  return keepInView({ ...board, column, rows: board.rows.with(column, rows[column]!) })
}

function indexOf(cards: readonly Card[], id: string | undefined): number {
  return id === undefined ? -1 : cards.findIndex(({ task }) => task.id === id)
}

/** Keeps selection and scroll positions inside the columns. */
export function keepInView(board: Board): Board {
  const { rowsPerColumn } = layoutOf(board.size)
  const rows = board.columns.map((cards, column) => {
    return clamp(board.rows[column] ?? 0, cards.length - 1)
  })
  const tops = board.columns.map((cards, column) => {
    return scrollTo(board.tops[column] ?? 0, rows[column]!, rowsPerColumn, cards.length)
  })
  return { ...board, rows, tops, open: keepCardInView(board) }
}

function keepCardInView({ open, size }: Board): OpenCard | undefined {
  if (open === undefined) return undefined
  const count = cardLines(open.brief, size.width).length
  const cursor = clamp(open.cursor, count - 1)
  return { ...open, cursor, top: scrollTo(open.top, cursor, layoutOf(size).pageHeight, count) }
}

/** The first line to show so that `line` is visible. */
function scrollTo(top: number, line: number, height: number, count: number): number {
  const near = Math.min(Math.max(top, line - height + 1), line)
  return clamp(near, count - height)
}

export function clamp(value: number, highest: number): number {
  return Math.max(0, Math.min(value, highest))
}

interface Layout {
  readonly columns: number
  /** Whether there is a line with the name of the project. */
  readonly hasTitle: boolean
  readonly cardHeight: 1 | 3
  readonly rowsPerColumn: number
  /** Number of lines between title and footer. */
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
