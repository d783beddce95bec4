import { STATUSES } from '../../tasks/status.ts'
import { layoutOf, type Board, type BoardPrompt } from './board.ts'
import { cardLines } from './card-lines.ts'
import type { Card, Snapshot } from './snapshot.ts'
import { cut, fit, safe, type Paint } from '../terminal/columns.ts'
import { firstCharacter, type EditedText } from '../terminal/line-editor.ts'

/** The lines of the screen, each padded to its full width. */
export function render(board: Board, paint: Paint): string[] {
  const { width, height } = board.size
  const { hasTitle, pageHeight } = layoutOf(board.size)
  const page = renderPage(board, paint).slice(0, pageHeight)
  while (page.length < pageHeight) page.push(' '.repeat(width))
  const title = hasTitle ? [renderTitle(board, paint)] : []
  return [...title, ...page, renderFooter(board, paint)].slice(-height)
}

function renderPage(board: Board, paint: Paint): string[] {
  if (board.prompt?.kind === 'help') return renderHelp(board, board.prompt.top, paint)
  return board.open === undefined ? renderColumns(board, paint) : renderCard(board, paint)
}

function renderTitle({ name, filter, isOnlyReady, size }: Board, paint: Paint): string {
  const parts = [
    safe(name),
    ...(isOnlyReady ? ['only ready'] : []),
    ...(filter.trim() === '' ? [] : [`filter: ${safe(filter.trim())}`]),
  ]
  return paint.bold(fit(` ${parts.join(' · ')}`, size.width))
}

function renderColumns(board: Board, paint: Paint): string[] {
  const layout = layoutOf(board.size)
  const first = Math.min(
    Math.max(0, board.column - layout.columns + 1),
    STATUSES.length - layout.columns,
  )
  const lines: string[] = Array.from({ length: layout.pageHeight }, () => '')
  for (let place = 0; place < layout.columns; place++) {
    const start = Math.floor((place * board.size.width) / layout.columns)
    const end = Math.floor(((place + 1) * board.size.width) / layout.columns)
    const column = renderColumn(board, first + place, end - start, paint)
    // Positions each column explicitly, because terminals disagree about the width of emoji.
    const jump = place === 0 ? '' : `\u001b[${start + 1}G`
    for (const index of lines.keys()) {
      lines[index] += jump + (column[index] ?? ' '.repeat(end - start))
    }
  }
  return lines
}

function renderColumn(board: Board, index: number, width: number, paint: Paint): string[] {
  const { rowsPerColumn, cardHeight } = layoutOf(board.size)
  const cards = board.columns[index] ?? []
  const top = board.tops[index] ?? 0
  const shown = cards.slice(top, top + rowsPerColumn)
  const selected = board.column === index ? (board.rows[index] ?? 0) - top : -1
  return [
    renderHeading(board, index, width, paint),
    ...shown.flatMap((card, row) => {
      const lines = cardHeight === 1 ? [smallCard(card)] : largeCard(card)
      return lines.map((line) => renderCell(line, row === selected, width, paint))
    }),
  ]
}

function renderHeading(board: Board, index: number, width: number, paint: Paint): string {
  const { rowsPerColumn, columns } = layoutOf(board.size)
  const count = board.columns[index]?.length ?? 0
  const top = board.tops[index] ?? 0
  const more = `${top > 0 ? '^' : ''}${top + rowsPerColumn < count ? 'v' : ''}`
  const [before, after] =
    columns === STATUSES.length
      ? [' ', '']
      : [index > 0 ? '<' : ' ', index < STATUSES.length - 1 ? ' >' : '']
  const text = `${before}${STATUSES[index]} ${count} ${more}`
  const heading = fit(text, Math.max(0, width - after.length - 1)) + after
  return (board.column === index ? paint.reverse : paint.bold)(fit(heading, width - 1)) + ' '
}

interface Piece {
  readonly text: string
  readonly look?: keyof Paint
}

const PRIORITY_LOOKS = { high: 'red', medium: 'yellow', low: 'dim' } as const

function smallCard(card: Card): Piece[] {
  const mark = card.isReady ? '*' : card.holder === undefined ? ' ' : '@'
  return [
    { text: card.task.id, look: 'bold' },
    { text: mark, look: 'green' },
    { text: safe(card.task.title) },
  ]
}

function largeCard({ task, isReady, holder }: Card): Piece[][] {
  const { priority } = task
  const first: Piece[] = [
    { text: task.id, look: 'bold' },
    ...(priority === undefined ? [] : [{ text: priority, look: PRIORITY_LOOKS[priority] }]),
  ]
  const isHeldByAssignee = holder !== undefined && holder === task.assignee
  const last: Piece[] = [
    ...(isReady ? [{ text: 'ready', look: 'green' } as const] : []),
    ...(holder === undefined ? [] : [{ text: `held by ${safe(holder)}`, look: 'cyan' } as const]),
    ...(task.assignee === undefined || isHeldByAssignee
      ? []
      : [{ text: `@${safe(task.assignee)}` }]),
  ]
  return [first, [{ text: safe(task.title) }], last]
}

/** Leaves the last column free to separate the cards. */
function renderCell(pieces: readonly Piece[], isSelected: boolean, width: number, paint: Paint) {
  const room = Math.max(0, width - 2)
  let text = ''
  let used = 0
  for (const [index, piece] of pieces.entries()) {
    const gap = index === 0 ? '' : ' '
    const words = cut(gap + piece.text, room - used)
    used += Bun.stringWidth(words)
    text += piece.look === undefined || isSelected ? words : paint[piece.look](words)
  }
  const cell = `${isSelected ? '>' : ' '}${text}${' '.repeat(Math.max(0, room - used))}`
  return `${isSelected ? paint.reverse(cell) : cell}${' '.repeat(Math.max(0, Math.min(1, width - 1)))}`
}

function renderCard({ open, size }: Board, paint: Paint): string[] {
  const { brief, top, cursor } = open!
  const shown = cardLines(brief, size.width).slice(top, top + layoutOf(size).pageHeight)
  return shown.map(({ text, isHeading, criterion }, index) => {
    const line = fit(text, size.width)
    if (top + index === cursor) return paint.reverse(line)
    if (isHeading === true) return paint.bold(line)
    return criterion?.isDone === true ? paint.green(line) : line
  })
}

export const HELP: readonly (readonly [string, string])[] = [
  ['arrows, h j k l', 'move the selection'],
  ['PgUp PgDn g G', 'a page, the first, the last'],
  ['Enter', 'open the card; Esc or q closes it'],
  ['< >, H L', 'move the card: to do, in progress, done'],
  ['b', 'toggle blocked'],
  ['u', 'undo the last change made on this board'],
  ['s t/i/b/d', 'status: to do, in progress, blocked, done'],
  ['p h/m/l/n', 'priority: high, medium, low, none'],
  ['a', 'assign; empty to remove the assignee'],
  ['space, x', 'in a card: tick the criterion'],
  ['Tab', 'in a card: go to the next criterion'],
  ['e', 'edit the file in $VISUAL or $EDITOR'],
  ['n', 'create a task'],
  ['/', 'filter by words: title, id, label, assignee'],
  ['r', 'toggle: only ready tasks'],
  ['Esc', 'clear the filter'],
  ['q, Ctrl-C', 'quit'],
  ['* @', 'in one-line cards: ready, claimed'],
]

function renderHelp({ size }: Board, top: number, paint: Paint): string[] {
  const left = Math.min(18, Math.floor(size.width / 2))
  return HELP.slice(top).map(([keys, what]) => {
    return paint.bold(fit(` ${keys}`, left)) + fit(` ${what}`, size.width - left)
  })
}

function renderFooter(board: Board, paint: Paint): string {
  const { width } = board.size
  const { prompt, message, snapshot } = board
  if (prompt !== undefined) return renderPrompt(width, prompt, paint)
  if (message !== undefined) {
    const text = fit(` ${safe(message.text.replaceAll(/\s*\n\s*/g, ' '))}`, width)
    return message.isError ? paint.red(text) : text
  }
  const broken = cut(describeBroken(snapshot.broken), Math.ceil(width / 2))
  const hints = fit(hintsOf(board), width - Bun.stringWidth(broken))
  return paint.dim(hints) + paint.yellow(broken)
}

function describeBroken([first, ...more]: Snapshot['broken']): string {
  if (first === undefined) return ''
  const count = more.length === 0 ? '1 broken file' : `${more.length + 1} broken files`
  return ` ${count}: ${safe(first.file)}:${first.line}`
}

function hintsOf({ open }: Board): string {
  return open === undefined
    ? ' ? help  q quit  Enter open  < > move  u undo  n new  / filter  r ready'
    : ' ? help  Esc back  x tick  < > move  a assign  e edit'
}

const LABELS = { filter: 'Filter', create: 'Title of the new task' } as const

function renderPrompt(width: number, prompt: BoardPrompt, paint: Paint): string {
  switch (prompt.kind) {
    case 'help':
      return paint.dim(fit(' Esc back', width))
    case 'status':
      return fit(` Status of ${prompt.id}: t to do, i in progress, b blocked, d done`, width)
    case 'take':
      return fit(
        ` ${prompt.id} is held by ${safe(prompt.owner)}. Set ${prompt.status} anyway? y yes, n no`,
        width,
      )
    case 'priority':
      return fit(` Priority of ${prompt.id}: h high, m medium, l low, n none`, width)
    default: {
      const words = prompt.kind === 'assign' ? `Assign ${prompt.id} to` : LABELS[prompt.kind]
      const label = cut(` ${words}: `, Math.floor(width / 2))
      return label + renderLine(prompt.line, width - Bun.stringWidth(label), paint)
    }
  }
}

/** Text beyond this many code units per column is not measured. */
const UNITS_PER_COLUMN = 64

/** The part of the line around the cursor that fits. */
export function renderLine({ before, after }: EditedText, width: number, paint: Paint): string {
  const under = firstCharacter(after)
  const cursor = under === '' ? ' ' : safe(under)
  const room = Math.max(0, width - Bun.stringWidth(cursor))
  let start = safe(before.slice(-UNITS_PER_COLUMN * (room + 1)))
  while (Bun.stringWidth(start) > room) start = start.slice(firstCharacter(start).length)
  return (
    start +
    paint.reverse(cursor) +
    cut(safe(after.slice(under.length)), room - Bun.stringWidth(start))
  )
}
