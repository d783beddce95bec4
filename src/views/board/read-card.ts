import type { Changes } from '../../tasks/text/changes.ts'
import { layoutOf, settle, type Board } from './board.ts'
import { cardLines } from './card-lines.ts'
import { distanceOf, say, still, type Step } from './steps.ts'

export function readCard(board: Board, key: string): Step | undefined {
  const open = board.open!
  switch (key) {
    case 'escape':
    case 'q':
    case 'enter':
      return still({ ...board, open: undefined })
    case ' ':
    case 'x':
      return tick(board)
    case 'tab':
      return still(moveCursor(board, nextCriterion(board, 1) ?? open.cursor))
    case 'back-tab':
      return still(moveCursor(board, nextCriterion(board, -1) ?? open.cursor))
    default: {
      const by = distanceOf(key, layoutOf(board.size).pageHeight)
      return by === undefined ? undefined : still(moveCursor(board, open.cursor + by))
    }
  }
}

function moveCursor(board: Board, cursor: number): Board {
  return settle({ ...board, open: { ...board.open!, cursor } })
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
    if (next === undefined) return still(say(board, 'The task has no acceptance criteria.'))
    return still(
      say(moveCursor(board, next), 'Press x to tick this criterion, Tab for the next one.'),
    )
  }
  const { number, isDone } = criterion
  const changes: Changes = isDone ? { uncheckCriteria: [number] } : { checkCriteria: [number] }
  const done = `${isDone ? 'Unchecked' : 'Checked'} #${number}.`
  return { board, effects: [{ type: 'edit', id: brief.task.id, changes, done }] }
}
