import { SIGNS } from '../chain/parse/items.ts'
import { currentSteps, isDone, itemsOf, type RunState } from '../records/events/state.ts'
import type { StepState } from '../records/events/step-state.ts'
import { waitsOf } from '../records/events/waits.ts'
import { formatDuration } from '../base/durations.ts'
import { formatMoney } from '../base/amounts.ts'
import { localTime } from '../base/local-time.ts'
import { formatCost } from './amounts.ts'
import { FOR_PIPE, wrapWords, type Layout } from './layout.ts'
import { groupByStep } from './copies.ts'
import { renderTable, type Cell } from './table.ts'
import { cut } from './terminal/columns.ts'

/** A past or present run, as read from its record. */
export interface RecordedRun {
  readonly id: string
  /** Of a run without steps, `open`: some tasks have not ended; `unknown`: its queue cannot be read. */
  readonly status:
    'running' | 'waiting' | 'complete' | 'failed' | 'stopped' | 'dead' | 'open' | 'unknown'
  readonly state: RunState
  /** Whether it is active and was asked to stop. */
  readonly isStopping?: boolean
  /** Absent if it never had tasks. */
  readonly counts?: QueueCounts | undefined
  /** Why its queue cannot be read. */
  readonly unreadable?: string | undefined
  /** Whether it is dead and left processes running. */
  readonly hasOrphans?: boolean
  /** Set for a run that is not complete. */
  readonly isChat?: boolean
}

/** The command that continues a run; `id` may be followed by options. */
export function resumeCommand(id: string, isChat = false): string {
  return isChat ? `forkhestra chat --resume ${id}` : `forkhestra resume ${id}`
}

/** The option that a resume needs if processes of the dead run are still running. */
export function orphansOption({ hasOrphans }: Pick<RecordedRun, 'hasOrphans'>): string {
  return hasOrphans === true ? ' --kill-orphans' : ''
}

export interface QueueCounts {
  readonly queued: number
  readonly ready: number
  readonly running: number
  readonly failed: number
  /** How many failed tasks another task redid later. */
  readonly redone?: number | undefined
  /** How many of the other failed tasks were cancelled. */
  readonly cancelled?: number | undefined
  readonly done: number
}

/** In columns; longer cells are cut. */
export const WIDEST_CELL = 50

/** One line per run: id, status, chain, place, duration, cost, age. */
export function renderRuns(
  runs: readonly RecordedRun[],
  now: number,
  layout: Layout = FOR_PIPE,
): string[] {
  if (layout.width !== undefined) return renderForTerminal(runs, now, layout)
  return renderTable(
    runs.map((run) => [
      run.id,
      statusCell(run),
      cut(describeChain(run), WIDEST_CELL),
      describePlace(run, now),
      formatDuration(durationOf(run, now)),
      run.state.spent.costUsd > 0 ? formatCost(run.state.spent) : '-',
      formatAge(run.state.startedAt, now),
    ]),
    { right: [4, 5], layout },
  )
}

/** With short ids, so that a run fits into 80 columns. */
function renderForTerminal(runs: readonly RecordedRun[], now: number, layout: Layout): string[] {
  const ids = runs.map(({ id }) => id)
  const rows = runs.map((run): Cell[] => {
    const { id, status, state } = run
    const { costUsd, billing } = state.spent
    const place = status === 'complete' ? '' : describePlace(run, now)
    return [
      shortId(id, ids),
      statusCell(run),
      {
        text: state.startedAt === undefined ? '' : localTime(state.startedAt).slice(5),
        look: 'dim',
      },
      formatDuration(durationOf(run, now)),
      costUsd > 0 ? `${formatMoney(costUsd)}${billing === 'subscription' ? '*' : ''}` : '',
      [cut(describeChain(run), WIDEST_CELL), place].filter(Boolean).join(': '),
    ]
  })
  const head = ['run', 'status', 'started', 'time', 'cost', 'chain']
  const isCovered = runs.some(({ state }) => state.spent.billing === 'subscription')
  return [
    ...renderTable(rows, { head, right: [3, 4], flexible: 5, layout }),
    ...(isCovered ? wrapWords(`* ${API_EQUIVALENT}`, layout) : []),
  ]
}

export const API_EQUIVALENT =
  'API-equivalent: what the API would have charged; a subscription covers it.'

/** The end of an id, if no other one in the list has the same; all commands take it. */
export function shortId(id: string, ids: readonly string[]): string {
  const end = id.slice(id.lastIndexOf('-') + 1)
  return ids.filter((other) => other.endsWith(end)).length === 1 ? end : id
}

function statusCell(run: RecordedRun): Cell {
  const text = run.isStopping ? `${run.status} (stopping)` : run.status
  return { text, look: lookOf(run) }
}

/** The colour of a status. */
export function lookOf({ status }: Pick<RecordedRun, 'status'>): 'green' | 'red' | 'yellow' {
  if (status === 'complete') return 'green'
  return status === 'failed' || status === 'dead' ? 'red' : 'yellow'
}

/** The name of the chain, or its steps (`planner:3 -> builder:20`), or its tasks if it has no steps. */
export function describeChain({
  state,
  counts,
  unreadable,
}: Pick<RecordedRun, 'state' | 'counts' | 'unreadable'>): string {
  if (state.chain !== undefined) return state.chain
  if (state.steps.length === 0 && unreadable !== undefined) return 'queue: cannot be read'
  if (state.steps.length === 0 && counts !== undefined) return `queue: ${describeCounts(counts)}`
  return describeSteps(state)
}

/** `3 queued, 6 failed, 7 done`. */
export function describeCounts(counts: QueueCounts): string {
  const states = ['queued', 'ready', 'running', 'failed', 'done'] as const
  const harmless = (['redone', 'cancelled'] as const).flatMap((kind) =>
    counts[kind] ? [`${counts[kind]} ${kind}`] : [],
  )
  const some = harmless.length === 0 ? '' : ` (${harmless.join(', ')})`
  const words = states.flatMap((state) =>
    counts[state] === 0 ? [] : [`${counts[state]} ${state}${state === 'failed' ? some : ''}`],
  )
  return words.length === 0 ? 'empty' : words.join(', ')
}

/** The steps and groups as they are typed: `plan:3 -> (build:10 -> review:1):3`. */
export function describeSteps(state: RunState, list = '', sign = SIGNS.sequence): string {
  return itemsOf(state, list)
    .map(({ first }) => {
      const { words, count } = describeItem(state, list, first)
      return count === 1 ? words : `${words}*${count}`
    })
    .join(sign)
}

/** One copy of the step or group that begins with this step, and how many there are. */
export function describeItem(state: RunState, list: string, first: number) {
  const steps = ownSteps(state).filter((step) => step.list === list && step.number === first)
  if (steps[0] !== undefined) {
    const { agent, maxIterations } = steps[0]
    return { words: `${agent}${describeMost(maxIterations)}`, count: steps.length }
  }
  const groups = (state.groups ?? []).filter((each) => each.list === list && each.first === first)
  const { key, kind, maxRounds } = groups[0]!
  const inside = describeSteps(state, key, SIGNS[kind])
  return { words: `(${inside})${describeMost(maxRounds)}`, count: groups.length }
}

function describeMost(count: number | undefined): string {
  return count === undefined ? '' : `:${count}`
}

/** `step 2/3, iteration 5/20, stalled`. */
export function describePlace({ status, state }: RecordedRun, now: number): string {
  const steps = groupByStep(ownSteps(state))
  if (steps.length === 0) return ''
  const step = currentStep(state)
  if (status === 'complete' || step === undefined) {
    const isDoneStep = (copies: readonly StepState[]) => copies.every((each) => isDone(state, each))
    return `${steps.filter(isDoneStep).length}/${steps.length} steps`
  }
  const { number, iterations, maxIterations, reason } = step
  const wait = state.waiting
  const branches = openBranches(state)
  if (branches.length > 1 && step.isRecovery !== true) {
    const numbers = branches.map((each) => each.number)
    const [first, last] = [Math.min(...numbers), Math.max(...numbers)]
    const waits = waitsOf(state).filter(({ task }) => task === undefined)
    return [
      `${first === last ? `step ${first}` : `steps ${first}-${last}`}/${steps.length}`,
      `${branches.length} in parallel`,
      ...(waits.length > 0 ? [`${waits.length} waiting`] : []),
    ].join(', ')
  }
  return [
    step.isRecovery === true ? `recovery ${number}` : `step ${number}/${steps.length}`,
    ...(maxIterations !== undefined && iterations > 0
      ? [`iteration ${iterations}/${maxIterations}`]
      : []),
    ...(reason === undefined || reason === 'skipped' ? [] : [reason]),
    ...(status === 'waiting' && wait !== undefined ? [describeLeft(wait.until, now)] : []),
  ].join(', ')
}

/** `continues in 1 h 05 min`. */
export function describeLeft(until: string, now: number): string {
  const left = Date.parse(until) - now
  return left > 0 ? `continues in ${formatDuration(left)}` : 'continues now'
}

/** The steps that run in parallel, or would continue after a resume. */
export function openBranches(state: RunState): StepState[] {
  return currentSteps(state).filter((step) => step.isOpen)
}

/** The step that is running, comes next, or failed. */
export function currentStep(state: RunState): StepState | undefined {
  const recovery = state.steps.find((step) => step.isRecovery === true && step.isOpen)
  const isOver = (step: StepState) => isDone(state, step) || step.reason === 'skipped'
  const next = currentSteps(state)
  const open = next.filter((step) => !isDone(state, step))
  return (
    recovery ??
    // A cancelled step says less than the one that caused the cancellation.
    open.find(({ reason }) => reason !== 'cancelled') ??
    open[0] ??
    next[0] ??
    state.steps.find((step) => step.reason !== undefined && !isOver(step))
  )
}

function ownSteps({ steps }: RunState): StepState[] {
  return steps.filter((step) => step.isRecovery !== true)
}

/** The running time; for an active run including the time since its last event. */
export function durationOf({ status, state }: RecordedRun, now: number): number {
  const isDriven = status === 'running' || status === 'waiting'
  const since = isDriven && state.clock !== undefined ? Math.max(0, now - state.clock) : 0
  return state.spent.ms + since
}

const DAYS_MS = 2 * 86_400_000

/** `8 h 12 min ago`, or the date after two days. */
export function formatAge(startedAt: string | undefined, now: number): string {
  if (startedAt === undefined) return 'just now'
  const ms = now - Date.parse(startedAt)
  return ms > DAYS_MS ? startedAt.slice(0, 10) : `${formatDuration(Math.max(0, ms))} ago`
}
