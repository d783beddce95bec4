import { errorText } from '../../base/errors.ts'
import type { Activities } from '../status/activity.ts'
import type { SpendingLimits } from '../status/status-rows.ts'
import type { EditedText } from '../terminal/line-editor.ts'
import type { Size } from '../terminal/tty.ts'
import type { LogLines } from './log-lines.ts'
import { byStart } from './history.ts'
import { entryOf, RUN_KEY, type Opened, type RunFacts, type TreeRow } from './tree.ts'

export const TABS = ['log', 'changes', 'prompt'] as const
type Tab = (typeof TABS)[number]

/** What the user sees and has chosen; the run itself is in `Seen`. */
export interface Live {
  readonly size: Size
  readonly selected: string
  /** Whether the selection follows what runs. */
  readonly isFollowing: boolean
  readonly opened: Opened
  readonly tab: Tab
  /** Whether the right side has the whole screen. */
  readonly isWide: boolean
  /** The number of the line after the last visible one; undefined at the end, which moves. */
  readonly bottom: number | undefined
  readonly query: string
  /** The line that was found. */
  readonly found: number | undefined
  readonly prompt: LivePrompt | undefined
  readonly message: { readonly text: string; readonly isError: boolean } | undefined
}

type LivePrompt =
  | { readonly kind: 'search'; readonly line: EditedText }
  | { readonly kind: 'stop_now' | 'resume' | 'help' }

/** The run, as it was read last. */
export interface Seen extends RunFacts {
  readonly id: string
  readonly now: number
  readonly activities: Activities
  readonly limits: SpendingLimits
  readonly isStopRequested: boolean
  /** Whether older events are still being read. */
  readonly isReading: boolean
  readonly rows: readonly TreeRow[]
  /** The log, the changes or the prompt of the selected row. */
  readonly lines: LogLines
  /** Whether its end is shown first: it is the log of an attempt. */
  readonly isFollowed: boolean
}

export function makeLive(size: Size): Live {
  return {
    size,
    selected: RUN_KEY,
    isFollowing: true,
    opened: new Map(),
    tab: 'log',
    isWide: false,
    bottom: undefined,
    query: '',
    found: undefined,
    prompt: undefined,
    message: undefined,
  }
}

/** The index of the selected row, or of the nearest one that is visible. */
export function selectedIndex({ selected }: Live, rows: readonly TreeRow[]): number {
  const at = rows.findIndex(({ key }) => key === selected)
  return Math.max(0, at)
}

/** Selects another row, whose log is shown from its end. */
export function select(live: Live, key: string): Live {
  if (key === live.selected) return live
  return { ...live, selected: key, bottom: undefined, found: undefined }
}

/** Selects what runs, as long as the user has not chosen another row. */
export function followRun(live: Live, rows: readonly TreeRow[]): Live {
  if (!live.isFollowing) return live
  const current = rows.find(({ key }) => key === live.selected)
  const busy = rows.filter(
    (row) => (row.kind === 'attempt' || row.isOpen === undefined) && isBusy(row),
  )
  const step = current === undefined ? undefined : entryOf(current)?.step
  const same = busy.filter((row) => entryOf(row)?.step === step)
  const wanted = newest(same) ?? newest(busy) ?? newest(rows.filter(isAttempt))
  return wanted === undefined ? live : select(live, wanted.key)
}

function isBusy(row: TreeRow): boolean {
  return (row.mark === 'running' || row.mark === 'waiting') && isAttempt(row)
}

/** A row with a log, but not that of a sub-agent below a step. */
function isAttempt(row: TreeRow): boolean {
  const entry = entryOf(row)
  if (row.kind === 'attempt' && row.depth === 1) return true
  return entry !== undefined && entry.task === undefined
}

function newest(rows: readonly TreeRow[]): TreeRow | undefined {
  return rows.toSorted((one, other) => byStart(entryOf(one)!, entryOf(other)!)).at(-1)
}

export function withMessage(live: Live, message: string | Error): Live {
  const isError = typeof message !== 'string'
  return { ...live, message: { text: isError ? errorText(message) : message, isError } }
}
