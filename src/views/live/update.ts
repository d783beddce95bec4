import { atEnd, textOf, typeKey } from '../terminal/line-editor.ts'
import type { Key, MouseKey } from '../terminal/keys.ts'
import { detailHeight } from './detail.ts'
import { layoutOf, treeTop } from './layout.ts'
import {
  followRun,
  select,
  selectedIndex,
  TABS,
  withMessage,
  type Live,
  type Seen,
} from './live.ts'
import { logRows } from './log-rows.ts'
import { entryOf, isActive, type TreeRow } from './tree.ts'

export type LiveEffect =
  'stop' | 'stop_now' | 'retry_now' | 'resume' | 'suspend' | 'interrupt' | 'quit'

export interface LiveStep {
  readonly live: Live
  readonly effect?: LiveEffect
}

/** What a key does. */
export function pressKey(before: Live, seen: Seen, key: Key): LiveStep {
  const live = { ...before, message: undefined }
  if (key.name === 'ctrl-c') return { live, effect: 'interrupt' }
  if (key.name === 'ctrl-z') return { live, effect: 'suspend' }
  if (live.prompt !== undefined) return answer(live, seen, key)
  // Pasted text must not run commands.
  if (key.name === 'paste') return { live }
  if ('row' in key) return { live: pressMouse(live, seen, key) }
  const name = key.name === 'text' ? key.text : key.name
  return act(live, seen, name) ?? { live: move(live, seen, name) }
}

function answer(live: Live, seen: Seen, key: Key): LiveStep {
  const { prompt } = live
  const closed: Live = { ...live, prompt: undefined }
  if (key.name === 'escape') return { live: closed }
  if (prompt?.kind === 'search') {
    if (key.name !== 'enter')
      return { live: { ...live, prompt: { ...prompt, line: typeKey(prompt.line, key) } } }
    const query = textOf(prompt.line)
    return { live: query === '' ? { ...closed, query } : find({ ...closed, query }, seen, 1) }
  }
  if (prompt?.kind === 'help') return { live: closed }
  const isYes = key.name === 'text' && key.text.toLowerCase() === 'y'
  if (!isYes) return { live: closed }
  return { live: closed, effect: prompt?.kind === 'resume' ? 'resume' : 'stop_now' }
}

/** Keys that do not move anything; undefined for others. */
function act(live: Live, seen: Seen, name: string): LiveStep | undefined {
  switch (name) {
    case 'q':
      return { live, effect: 'quit' }
    case '?':
      return { live: { ...live, prompt: { kind: 'help' } } }
    case '/':
      return { live: { ...live, prompt: { kind: 'search', line: atEnd(live.query) } } }
    case 's':
      return ifActive(live, seen, { live, effect: 'stop' })
    case 'S':
      return ifActive(live, seen, { live: { ...live, prompt: { kind: 'stop_now' } } })
    case 'r':
      return ifActive(live, seen, { live, effect: 'retry_now' })
    case 'R':
      return { live: askToResume(live, seen) }
    default:
      return undefined
  }
}

function ifActive(live: Live, seen: Seen, step: LiveStep): LiveStep {
  if (isActive(seen)) return step
  return { live: withMessage(live, 'The run has ended. R resumes it.') }
}

function askToResume(live: Live, seen: Seen): Live {
  if (isActive(seen)) return withMessage(live, 'The run has not ended.')
  if (seen.status === 'complete')
    return withMessage(live, 'The run is complete: nothing to resume.')
  return { ...live, prompt: { kind: 'resume' } }
}

function move(live: Live, seen: Seen, name: string): Live {
  const at = selectedIndex(live, seen.rows)
  const row = seen.rows[at]!
  const page = logHeight(live, seen)
  if (live.isWide && (name === 'up' || name === 'k')) return scroll(live, seen, -1)
  if (live.isWide && (name === 'down' || name === 'j')) return scroll(live, seen, 1)
  switch (name) {
    case 'up':
    case 'k':
      return choose(live, seen, at - 1)
    case 'down':
    case 'j':
      return choose(live, seen, at + 1)
    case 'left':
    case 'h':
      return row.isOpen === true
        ? setOpen(live, row, false)
        : choose(live, seen, parentOf(seen.rows, at))
    case 'right':
    case 'l':
      return row.isOpen === false ? setOpen(live, row, true) : live
    case 'enter':
      return { ...live, isWide: !live.isWide }
    case 'escape':
      return live.isWide ? { ...live, isWide: false } : { ...live, query: '', found: undefined }
    case 'tab':
    case 'back-tab': {
      const step = name === 'tab' ? 1 : TABS.length - 1
      const tab = TABS[(TABS.indexOf(live.tab) + step) % TABS.length]!
      return { ...live, tab, bottom: undefined, found: undefined }
    }
    case 'page-up':
    case 'b':
      return scroll(live, seen, 1 - page)
    case 'page-down':
    case ' ':
      return scroll(live, seen, page - 1)
    case 'home':
    case 'g':
      return { ...live, bottom: seen.lines.first }
    case 'end':
    case 'G':
      return { ...live, bottom: seen.isFollowed ? undefined : seen.lines.end }
    case 'f':
      return followRun({ ...live, isFollowing: true, bottom: undefined, tab: 'log' }, seen.rows)
    case 'n':
    case 'N':
      if (live.query === '') return withMessage(live, 'Nothing to search for: press / first.')
      return find(live, seen, name === 'n' ? 1 : -1)
    case 'e':
      return findFailure(live, seen)
    default:
      return live
  }
}

const WHEEL_LINES = 3

function pressMouse(live: Live, seen: Seen, { name, column, row }: MouseKey): Live {
  const { tree, height } = layoutOf(live)
  const by = name === 'wheel-up' ? -1 : 1
  if (column > tree || tree === 0)
    return name === 'click' ? live : scroll(live, seen, by * WHEEL_LINES)
  const at = selectedIndex(live, seen.rows)
  if (name !== 'click') return choose(live, seen, at + by)
  // Below the heading.
  const clicked = treeTop(at, seen.rows.length, height) + row - 1
  const found = row === 0 || row > height ? undefined : seen.rows[clicked]
  if (found === undefined) return live
  if (clicked !== at || found.isOpen === undefined) return choose(live, seen, clicked)
  return setOpen(live, found, !found.isOpen)
}

function choose(live: Live, { rows }: Seen, index: number): Live {
  const at = Math.max(0, Math.min(index, rows.length - 1))
  // What a user has selected stays visible, also after its step has ended.
  const opened = new Map(live.opened)
  for (let above = parentOf(rows, at); above > 0; above = parentOf(rows, above))
    opened.set(rows[above]!.key, true)
  return { ...select(live, rows[at]!.key), opened, isFollowing: false }
}

function parentOf(rows: Seen['rows'], at: number): number {
  const { depth } = rows[at]!
  return rows.slice(0, at).findLastIndex((row) => row.depth < depth)
}

function setOpen(live: Live, { key }: TreeRow, isOpen: boolean): Live {
  return { ...live, opened: new Map([...live.opened, [key, isOpen]]), isFollowing: false }
}

/** Rows of the log, below what is said about the selected row. */
function logHeight(live: Live, seen: Seen): number {
  return Math.max(1, layoutOf(live).height - detailHeight(live, seen))
}

/** The lines on the screen now. */
function visible(live: Live, seen: Seen) {
  const { detail, tree } = layoutOf(live)
  const bottom = live.bottom ?? (seen.isFollowed ? seen.lines.end : seen.lines.first)
  const rows = logRows(seen.lines, bottom, detail || tree, logHeight(live, seen))
  return { first: rows[0]?.line ?? 0, last: rows.at(-1)?.line ?? 0 }
}

function scroll(live: Live, seen: Seen, by: number): Live {
  const { last } = visible(live, seen)
  const bottom = Math.max(seen.lines.first, last + 1 + by)
  if (bottom < seen.lines.end) return { ...live, bottom }
  return { ...live, bottom: seen.isFollowed ? undefined : seen.lines.end }
}

function show(live: Live, seen: Seen, line: number): Live {
  const half = Math.floor(logHeight(live, seen) / 2)
  return { ...live, found: line, bottom: Math.min(seen.lines.end, line + half) }
}

function find(live: Live, seen: Seen, step: 1 | -1): Live {
  const { lines } = seen
  const from = live.found === undefined ? visible(live, seen).first : live.found + step
  const start = step === 1 ? lines.first : lines.end - 1
  const found = lines.find(live.query, from, step) ?? lines.find(live.query, start, step)
  if (found === undefined) return withMessage(live, `'${live.query}' is not in this text.`)
  return show(live, seen, found)
}

/** The next failure in the log, or the next row of the tree that failed. */
function findFailure(live: Live, seen: Seen): Live {
  const { lines, rows } = seen
  if (live.tab === 'log') {
    const from = live.found === undefined ? lines.first : live.found + 1
    const found = seen.isFollowed ? lines.find(undefined, from, 1) : undefined
    if (found !== undefined) return { ...show(live, seen, found), isFollowing: false }
  }
  const at = selectedIndex(live, rows)
  const later = [...rows.slice(at + 1), ...rows.slice(0, at)]
  const failed = later.find(
    (row) => (row.mark === 'failed' || row.mark === 'refused') && entryOf(row) !== undefined,
  )
  if (failed === undefined) return withMessage(live, 'No other failure.')
  return { ...choose(live, seen, rows.indexOf(failed)), tab: 'log' }
}
