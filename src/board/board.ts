import type { Brief } from '../tasks/view.ts'
import { STATUSES, type Status } from '../tasks/words.ts'
import { cardLines } from './card-lines.ts'
import type { Size } from '../base/tty.ts'
import { layoutOf } from './layout.ts'
import type { LineInput } from './line-input.ts'
import { makeColumns, type Card, type Snapshot } from './snapshot.ts'

/** Everything that decides what is on the screen. */
export interface Board {
  /** Of the project. */
  readonly name: string
  readonly size: Size
  readonly snapshot: Snapshot
  readonly filter: string
  readonly isOnlyReady: boolean
  /** What the filter lets through, by status. */
  readonly columns: readonly (readonly Card[])[]
  /** The column with the selection, the selected row of each, and the first row that is shown. */
  readonly column: number
  readonly rows: readonly number[]
  readonly tops: readonly number[]
  readonly open: OpenCard | undefined
  readonly prompt: Prompt | undefined
  readonly message: Message | undefined
}

/** A card that is read as a whole. */
interface OpenCard {
  readonly brief: Brief
  /** The line with the cursor, and the first one that is shown. */
  readonly cursor: number
  readonly top: number
}

/** What the next keys are an answer to; of which task is decided when it is asked. */
export type Prompt =
  | { readonly kind: 'help'; readonly top: number }
  | { readonly kind: 'status' | 'priority'; readonly id: string }
  | { readonly kind: 'take'; readonly id: string; readonly status: Status; readonly owner: string }
  | { readonly kind: 'assign'; readonly id: string; readonly line: LineInput }
  | { readonly kind: 'filter' | 'create'; readonly line: LineInput }

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

/** The card under the selection; where one is open, that one. */
export function selectedCard(board: Board): Card | undefined {
  const id = board.open?.brief.task.id
  if (id !== undefined) return board.snapshot.cards.find(({ task }) => task.id === id)
  return board.columns[board.column]?.[board.rows[board.column] ?? 0]
}

/** The board with other tasks or another filter; the selection stays on the same task. */
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

/** A filter must not leave the selection where nothing is to be seen. */
function selectMatch(board: Board): Board {
  const column = board.columns.findIndex((cards) => cards.length > 0)
  const isVoid = board.columns[board.column]?.length === 0
  return isVoid && column !== -1 ? settle({ ...board, column }) : board
}

/** Selects a task, wherever it is; where it is not, the selection stays at its place. */
export function selectId(board: Board, id: string | undefined): Board {
  const rows = board.columns.map((cards) => indexOf(cards, id))
  const column = rows.findIndex((row) => row !== -1)
  if (column === -1) return settle(board)
  return settle({ ...board, column, rows: board.rows.with(column, rows[column]!) })
}

function indexOf(cards: readonly Card[], id: string | undefined): number {
  return id === undefined ? -1 : cards.findIndex(({ task }) => task.id === id)
}

/** Puts selection and scrolling where there is something to see. */
export function settle(board: Board): Board {
  const { rowsPerColumn } = layoutOf(board.size)
  const rows = board.columns.map((cards, column) => {
    return clamp(board.rows[column] ?? 0, cards.length - 1)
  })
  const tops = board.columns.map((cards, column) => {
    return scrollTo(board.tops[column] ?? 0, rows[column]!, rowsPerColumn, cards.length)
  })
  return { ...board, rows, tops, open: settleOpen(board) }
}

function settleOpen({ open, size }: Board): OpenCard | undefined {
  if (open === undefined) return undefined
  const count = cardLines(open.brief, size.width).length
  const cursor = clamp(open.cursor, count - 1)
  return { ...open, cursor, top: scrollTo(open.top, cursor, layoutOf(size).pageHeight, count) }
}

/** The first line to show, so that one of them is among those that are shown. */
function scrollTo(top: number, line: number, height: number, count: number): number {
  const near = Math.min(Math.max(top, line - height + 1), line)
  return clamp(near, count - height)
}

export function clamp(value: number, highest: number): number {
  return Math.max(0, Math.min(value, highest))
}
