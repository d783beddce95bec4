import { unreachable } from '../../base/errors.ts'
import type { Changes } from '../../tasks/text/changes.ts'
import type { Brief } from '../../tasks/view.ts'
import { STATUSES, type Status } from '../../tasks/status.ts'
import { answerPrompt } from './answer.ts'
import {
  clamp,
  layoutOf,
  selectId,
  keepInView,
  showCards,
  type Board,
  type BoardPrompt,
} from './board.ts'
import type { Key } from '../terminal/keys.ts'
import { atEnd } from '../terminal/line-editor.ts'
import type { Size } from '../terminal/tty.ts'
import { cardLines } from './card-lines.ts'
import type { Snapshot } from './snapshot.ts'
import {
  changeStatus,
  distanceOfKey,
  keyName,
  withMessage,
  stepTo,
  withTask,
  type Step,
} from './steps.ts'

export type BoardEvent =
  | { readonly type: 'key'; readonly key: Key }
  | { readonly type: 'resized'; readonly size: Size }
  | { readonly type: 'loaded'; readonly snapshot: Snapshot }
  | { readonly type: 'opened'; readonly brief: Brief }
  /** The open task can no longer be read. */
  | { readonly type: 'gone'; readonly why: string }
  | { readonly type: 'created'; readonly id: string }
  | { readonly type: 'message'; readonly text: string; readonly isError: boolean }

export function update(board: Board, event: BoardEvent): Step {
  switch (event.type) {
    case 'key':
      return pressKey({ ...board, message: undefined }, event.key)
    case 'resized':
      return stepTo(keepInView({ ...board, size: event.size }))
    case 'loaded':
      return stepTo(showCards(board, { snapshot: event.snapshot }))
    case 'opened':
      return stepTo(showBrief(board, event.brief))
    case 'gone':
      return stepTo(withMessage({ ...board, open: undefined, prompt: undefined }, event.why, true))
    case 'created':
      return stepTo(withMessage(selectId(board, event.id), `Created ${event.id}.`))
    case 'message':
      return stepTo(withMessage(board, event.text, event.isError))
    default:
      return unreachable(event)
  }
}

function showBrief(board: Board, brief: Brief): Board {
  const { open } = board
  const isSame = open?.brief.task.id === brief.task.id
  return keepInView({ ...board, open: isSame ? { ...open, brief } : { brief, cursor: 0, top: 0 } })
}

function pressKey(board: Board, key: Key): Step {
  if (key.name === 'ctrl-c') return { board, effects: [{ type: 'quit' }] }
  if (key.name === 'ctrl-z') return { board, effects: [{ type: 'suspend' }] }
  if (board.prompt !== undefined) return answerPrompt(board, board.prompt, key)
  // Pasted text must not run commands.
  if (key.name === 'paste') return stepTo(board)
  const name = keyName(key)
  return (
    (board.open === undefined ? browse(board, name) : readCard(board, name)) ?? act(board, name)
  )
}

function browse(board: Board, key: string): Step | undefined {
  const page = layoutOf(board.size).rowsPerColumn
  switch (key) {
    case 'left':
    case 'h':
      return stepTo(keepInView({ ...board, column: clamp(board.column - 1, STATUSES.length - 1) }))
    case 'right':
    case 'l':
      return stepTo(keepInView({ ...board, column: clamp(board.column + 1, STATUSES.length - 1) }))
    case 'enter':
      return withTask(board, ({ id }) => ({ board, effects: [{ type: 'open', id }] }))
    case 'escape':
      return stepTo(showCards(board, { filter: '' }))
    case 'r':
      return stepTo(showCards(board, { isOnlyReady: !board.isOnlyReady }))
    case 'q':
      return { board, effects: [{ type: 'quit' }] }
    default: {
      const by = distanceOfKey(key, page)
      if (by === undefined) return undefined
      const row = (board.rows[board.column] ?? 0) + by
      const last = (board.columns[board.column]?.length ?? 0) - 1
      return stepTo(keepInView({ ...board, rows: board.rows.with(board.column, clamp(row, last)) }))
    }
  }
}

function readCard(board: Board, key: string): Step | undefined {
  const open = board.open!
  switch (key) {
    case 'escape':
    case 'q':
    case 'enter':
      return stepTo({ ...board, open: undefined })
    case ' ':
    case 'x':
      return tick(board)
    case 'tab':
      return stepTo(moveCursor(board, nextCriterion(board, 1) ?? open.cursor))
    case 'back-tab':
      return stepTo(moveCursor(board, nextCriterion(board, -1) ?? open.cursor))
    default: {
      const by = distanceOfKey(key, layoutOf(board.size).pageHeight)
      return by === undefined ? undefined : stepTo(moveCursor(board, open.cursor + by))
    }
  }
}

function moveCursor(board: Board, cursor: number): Board {
  return keepInView({ ...board, open: { ...board.open!, cursor } })
}

/** The first line of the next or previous criterion; wraps around. */
function nextCriterion({ open, size }: Board, step: 1 | -1): number | undefined {
  const lines = cardLines(open!.brief, size.width)
  const firsts = lines.flatMap(({ criterion }, index) =>
    criterion !== undefined && lines[index - 1]?.criterion !== criterion ? [index] : [],
  )
  if (step === 1) return firsts.find((index) => index > open!.cursor) ?? firsts[0]
  return firsts.findLast((index) => index < open!.cursor) ?? firsts.at(-1)
}

/** Ticks the criterion under the cursor, or moves to the next one. */
function tick(board: Board): Step {
  const { brief, cursor } = board.open!
  const criterion = cardLines(brief, board.size.width)[cursor]?.criterion
  if (criterion === undefined) {
    const next = nextCriterion(board, 1)
    if (next === undefined)
      return stepTo(withMessage(board, 'The task has no acceptance criteria.'))
    return stepTo(
      withMessage(moveCursor(board, next), 'Press x to tick this criterion, Tab for the next one.'),
    )
  }
  const { number, isDone } = criterion
  const changes: Changes = isDone ? { uncheckCriteria: [number] } : { checkCriteria: [number] }
  const done = `${isDone ? 'Unchecked' : 'Checked'} #${number}.`
  return { board, effects: [{ type: 'edit', id: brief.task.id, changes, done }] }
}

/** Keys with the same meaning on the board and on a card. */
function act(board: Board, key: string): Step {
  const ask = (prompt: BoardPrompt) => stepTo({ ...board, prompt })
  switch (key) {
    case '<':
    case 'H':
    case 'shift-left':
      return moveCard(board, -1)
    case '>':
    case 'L':
    case 'shift-right':
      return moveCard(board, 1)
    case 'b':
      return withTask(board, ({ id, status }) => {
        return changeStatus(board, id, status === 'Blocked' ? 'To Do' : 'Blocked')
      })
    case 'u':
      return { board, effects: [{ type: 'undo' }] }
    case 's':
      return withTask(board, ({ id }) => ask({ kind: 'status', id }))
    case 'p':
      return withTask(board, ({ id }) => ask({ kind: 'priority', id }))
    case 'a':
      return withTask(board, ({ id, assignee = '' }) => {
        return ask({ kind: 'assign', id, line: atEnd(assignee) })
      })
    case 'e':
      return withTask(board, ({ file }) => ({ board, effects: [{ type: 'editor', file }] }))
    case 'n':
      return ask({ kind: 'create', line: atEnd('') })
    case '/':
      return stepTo({
        ...board,
        open: undefined,
        prompt: { kind: 'filter', line: atEnd(board.filter) },
      })
    case '?':
      return ask({ kind: 'help', top: 0 })
    default:
      return stepTo(board)
  }
}

/** Blocked is between To Do and In Progress. */
const STATUS_ORDER: readonly Status[] = ['To Do', 'In Progress', 'Done']
const BLOCKED_AT = 0.5

function moveCard(board: Board, by: 1 | -1): Step {
  return withTask(board, ({ id, status }) => {
    const at = status === 'Blocked' ? BLOCKED_AT : STATUS_ORDER.indexOf(status)
    const next = STATUS_ORDER[by > 0 ? Math.floor(at + 1) : Math.ceil(at - 1)]
    if (next !== undefined) return changeStatus(board, id, next)
    return stepTo(withMessage(board, `${status} is the last column in that direction.`))
  })
}
