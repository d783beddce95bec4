import { formatMoney } from '../../base/amounts.ts'
import { printable } from '../../base/terminal/printable.ts'
import { renderLine } from '../board/render.ts'
import { describeChain, durationOf } from '../runs.ts'
import { clock, describeSpent } from '../status/status-rows.ts'
import { cut, fit, type Paint } from '../terminal/columns.ts'
import { describeAbout, describeRow, isResumable, nameOf, titleOf } from './detail.ts'
import { layoutOf, treeTop, type Layout } from './layout.ts'
import { selectedIndex, TABS, type Live, type Seen } from './live.ts'
import { logRows, type LogRow } from './log-rows.ts'
import { entryOf, isActive, type Mark, type TreeRow } from './tree.ts'

const SPINNER = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'
const SPIN_MS = 250

const MARKS: Readonly<Record<Mark, readonly [string, keyof Paint]>> = {
  running: ['', 'cyan'],
  waiting: ['◌', 'yellow'],
  done: ['✓', 'green'],
  ended: ['✓', 'dim'],
  failed: ['✗', 'red'],
  refused: ['✗', 'yellow'],
  stopped: ['■', 'yellow'],
  skipped: ['-', 'dim'],
  pending: ['·', 'dim'],
}

/** All rows of the screen. */
export function render(live: Live, seen: Seen, paint: Paint): string[] {
  const { width, height } = live.size
  const layout = layoutOf(live)
  const body =
    live.prompt?.kind === 'help' ? renderHelp(live, paint) : renderBody(live, seen, layout, paint)
  const rows = [renderHeading(live, seen, paint), ...body.slice(0, layout.height)]
  const empty = Array.from({ length: Math.max(0, height - 1 - rows.length) }, () => '')
  return [...rows, ...empty, renderFooter(live, seen, paint)]
    .slice(0, height)
    .map((row) => row || ' '.repeat(width === 0 ? 0 : 1))
}

function renderHeading({ size: { width } }: Live, seen: Seen, paint: Paint): string {
  const { state, status, id, now, limits, isStopRequested, isReading } = seen
  const mark = markOf(
    isActive(seen) ? (status === 'waiting' ? 'waiting' : 'running') : statusMark(status),
    now,
  )
  const time = clock(durationOf({ id, status, state }, now))
  const doing = isStopRequested ? 'stopping after this iteration' : status
  const [spent = ''] = describeSpent(state, limits)
  const right = `${isReading ? 'reading … ' : ''}${spent} `
  const left = ` ${mark.glyph} ${printable(describeChain({ state }) || 'queue')}`
  const more = ` · ${doing} ${time} · ${id}`
  const room = Math.max(0, width - Bun.stringWidth(right) - 1)
  const shownLeft = cut(left, Math.max(Math.floor(room / 2), room - Bun.stringWidth(more)))
  const rest = cut(more, room - Bun.stringWidth(shownLeft))
  const used = Bun.stringWidth(shownLeft) + Bun.stringWidth(rest)
  const gap = ' '.repeat(Math.max(1, width - used - Bun.stringWidth(right)))
  return paint.reverse(cut(`${paint.bold(shownLeft)}${rest}${gap}${right}`, width))
}

function statusMark(status: Seen['status']): Mark {
  if (status === 'complete') return 'done'
  return status === 'stopped' ? 'stopped' : 'failed'
}

function renderBody(live: Live, seen: Seen, layout: Layout, paint: Paint): string[] {
  const { tree, detail, height } = layout
  const left = tree === 0 ? [] : renderTree(live, seen, tree, height, paint)
  const right = detail === 0 ? [] : renderDetail(live, seen, detail, height, paint)
  if (tree === 0) return right
  if (detail === 0) return left
  const border = paint.dim('│')
  return Array.from({ length: height }, (_, index) => {
    return `${left[index] ?? ' '.repeat(tree)}${border} ${right[index] ?? ''}`
  })
}

function renderTree(live: Live, seen: Seen, width: number, height: number, paint: Paint): string[] {
  const { rows } = seen
  const at = selectedIndex(live, rows)
  const top = treeTop(at, rows.length, height)
  return rows
    .slice(top, top + height)
    .map((row, index) => renderRow(row, seen, top + index === at, width, paint))
}

function renderRow(row: TreeRow, seen: Seen, isSelected: boolean, width: number, paint: Paint) {
  const { glyph, look } = markOf(row.mark, seen.now)
  const arrow = row.isOpen === undefined ? ' ' : row.isOpen ? '▾' : '▸'
  const indent = ' '.repeat(Math.max(0, row.depth - 1) * 2)
  const { label, amounts } = describeTreeRow(row, seen)
  const right = amounts === '' ? '' : ` ${amounts} `
  const before = `${indent}${arrow} `
  const room = Math.max(0, width - before.length - 2 - Bun.stringWidth(right))
  const text = fit(printable(label), room)
  const plain = cut(`${before}${glyph} ${text}${right}`, width)
  if (isSelected) return paint.reverse(fit(plain, width))
  const name =
    row.kind === 'run' || row.mark === 'running'
      ? paint.bold(text)
      : row.mark === 'pending' || row.mark === 'skipped'
        ? paint.dim(text)
        : text
  const shown = `${paint.dim(before)}${paint[look](glyph)} ${name}${paint.dim(right)}`
  return `${shown}${' '.repeat(Math.max(0, width - Bun.stringWidth(plain)))}`
}

/** `builder 3/20`, and what it took. */
function describeTreeRow(row: TreeRow, seen: Seen): { label: string; amounts: string } {
  const { now, state } = seen
  const isNow = isActive(seen) && row.mark !== 'pending'
  switch (row.kind) {
    case 'run':
      return { label: nameOf(row, seen), amounts: '' }
    case 'group': {
      const { round, maxRounds, usedRounds } = row.group
      const rounds = maxRounds === undefined ? '' : ` ${round}/${maxRounds + usedRounds}`
      return {
        label: `${nameOf(row, seen)}${rounds}`,
        amounts: amountsOf(row.group.spent.ms + openMs(row.group.isOpen), row.group.spent.costUsd),
      }
    }
    case 'step': {
      const { step } = row
      const { maxIterations, iterations, spent, rounds } = step
      const of = maxIterations === undefined ? '' : ` ${iterations}/${maxIterations}`
      return {
        label: `${nameOf(row, seen)}${of}`,
        amounts: rounds === 0 ? '' : amountsOf(spent.ms + openMs(step.isOpen), spent.costUsd),
      }
    }
    case 'round':
      return { label: nameOf(row, seen), amounts: '' }
    case 'attempt': {
      const { of, task, to } = row.entry
      const { iteration, attempt, ms, startedAt, usage } = of
      const again = attempt > 1 ? `.${attempt}` : ''
      const about = describeAbout(row)
      const isOpen = to === undefined && isNow
      const time = ms ?? (isOpen ? now - Date.parse(startedAt) : undefined)
      return {
        label: `${task ?? iteration}${again}${about === '' ? '' : ` · ${about}`}`,
        amounts: time === undefined ? '' : amountsOf(time, usage?.costUsd ?? 0),
      }
    }
  }

  function openMs(isOpen: boolean): number {
    return isOpen && isNow && state.clock !== undefined ? Math.max(0, now - state.clock) : 0
  }
}

function amountsOf(ms: number, costUsd: number): string {
  return costUsd === 0 ? clock(ms) : `${clock(ms)} ${formatMoney(costUsd)}`
}

function markOf(mark: Mark, now: number): { glyph: string; look: keyof Paint } {
  const [glyph, look] = MARKS[mark]
  if (mark !== 'running') return { glyph, look }
  return { glyph: SPINNER[Math.floor(now / SPIN_MS) % SPINNER.length]!, look }
}

const NAME_WIDTH = 8

function renderDetail(
  live: Live,
  seen: Seen,
  width: number,
  height: number,
  paint: Paint,
): string[] {
  const row = seen.rows[selectedIndex(live, seen.rows)]!
  const facts = describeRow(row, seen).map(({ name, text, look }) => {
    const words = cut(printable(text), Math.max(0, width - NAME_WIDTH))
    return `${paint.dim(fit(name, Math.min(NAME_WIDTH, width)))}${look === undefined ? words : paint[look](words)}`
  })
  const head = [
    paint.bold(cut(titleOf(row, seen), width)),
    ...facts,
    renderTabs(live, seen, row, width, paint),
  ]
  const { lines, isFollowed } = seen
  const bottom = live.bottom ?? (isFollowed ? lines.end : lines.first)
  const log = logRows(lines, bottom, width, Math.max(0, height - head.length))
  return [...head, ...log.map((each) => renderLogRow(each, live, paint))]
}

function renderTabs(live: Live, seen: Seen, row: TreeRow, width: number, paint: Paint): string {
  const hasTabs = entryOf(row) !== undefined
  const names = hasTabs
    ? TABS.map((tab) => (tab === live.tab ? paint.bold(`[${tab}]`) : paint.dim(` ${tab} `))).join(
        ' ',
      )
    : paint.dim('overview')
  const isScrolled = live.bottom !== undefined && seen.isFollowed && live.bottom < seen.lines.end
  const place = isScrolled
    ? ` line ${live.bottom}/${seen.lines.end}, G: end `
    : live.isFollowing
      ? ' following '
      : ''
  const used = Bun.stringWidth(names) + 4 + Bun.stringWidth(place)
  const rule = '─'.repeat(Math.max(0, width - used))
  return cut(`${paint.dim('──')} ${names} ${paint.dim(`${rule}${place}`)}`, width)
}

function renderLogRow({ text, kind, line }: LogRow, live: Live, paint: Paint): string {
  if (line === live.found) return paint.reverse(text)
  if (kind === 'failure') return paint.red(text)
  if (kind === 'warning') return paint.yellow(text)
  if (kind === 'tool') return paint.cyan(text)
  return kind === 'own' ? paint.dim(text) : `${text}\u001b[0m`
}

/** Keys and what they do, for the help and the footer. */
const HELP: readonly (readonly [string, string])[] = [
  ['up down, j k', 'select in the tree; in the whole screen: scroll'],
  ['left right, h l', 'close and open'],
  ['Enter, Esc', 'log in the whole screen, and back'],
  ['Tab', 'log, changed files and commits, prompt'],
  ['PgUp PgDn, b space', 'scroll the right side'],
  ['g G', 'its beginning, its end'],
  ['f', 'follow what runs'],
  ['/ n N', 'search; next, previous'],
  ['e', 'next failure, in the log or in the tree'],
  ['s', 'stop the run after this iteration'],
  ['S', 'stop the run now, like Ctrl-C in its terminal'],
  ['r', 'retry now: end a wait'],
  ['R', 'resume a run that has ended'],
  ['mouse', 'select, open and close; the wheel scrolls'],
  ['q', 'quit the view; the run continues'],
  ['Ctrl-C', 'the same; with --live, stop the run'],
]

function renderHelp({ size: { width } }: Live, paint: Paint): string[] {
  const left = Math.min(22, Math.floor(width / 2))
  return [
    '',
    ...HELP.map(
      ([keys, what]) => `${paint.bold(fit(`  ${keys}`, left))}${cut(what, width - left)}`,
    ),
  ]
}

function renderFooter(live: Live, seen: Seen, paint: Paint): string {
  const {
    prompt,
    message,
    size: { width },
  } = live
  if (message !== undefined) {
    const text = cut(` ${printable(message.text)}`, width)
    return message.isError ? paint.red(text) : text
  }
  switch (prompt?.kind) {
    case 'search':
      return ` /${renderLine(prompt.line, Math.max(0, width - 2), paint)}`
    case 'stop_now':
      return paint.yellow(cut(' Interrupt the running agents and stop the run? y yes, n no', width))
    case 'resume':
      return paint.yellow(cut(' Resume the run in this terminal? y yes, n no', width))
    case 'help':
      return paint.dim(cut(' Esc back', width))
    case undefined:
      return renderKeys(keysOf(seen), width, paint)
  }
}

const SHARED_KEYS: readonly (readonly [string, string])[] = [
  ['Tab', 'changes'],
  ['/', 'search'],
  ['e', 'next failure'],
  ['f', 'follow'],
]
const ACTIVE_KEYS: readonly (readonly [string, string])[] = [
  ['q', 'quit view'],
  ['?', 'keys'],
  ['↑↓', 'select'],
  ['Enter', 'log'],
  ['s', 'stop'],
  ['S', 'stop now'],
  ...SHARED_KEYS,
  ['r', 'retry now'],
]
const ENDED_KEYS: readonly (readonly [string, string])[] = [
  ['q', 'quit'],
  ['?', 'keys'],
  ['↑↓', 'select'],
  ['Enter', 'log'],
  ['R', 'resume'],
  ...SHARED_KEYS,
]

function keysOf(seen: Seen) {
  if (isActive(seen)) return ACTIVE_KEYS
  return isResumable(seen) ? ENDED_KEYS : ENDED_KEYS.filter(([key]) => key !== 'R')
}

/** As many as fit. */
function renderKeys(
  keys: readonly (readonly [string, string])[],
  width: number,
  paint: Paint,
): string {
  let text = ''
  let used = 0
  for (const [key, what] of keys) {
    const length = Bun.stringWidth(key) + what.length + 3
    if (used + length > width) break
    text += ` ${paint.bold(key)} ${paint.dim(what)} `
    used += length
  }
  return text
}
