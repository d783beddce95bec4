import { printable } from '../base/terminal/printable.ts'
import { type RunState } from '../records/events/state.ts'
import { isSettled, type StepState } from '../records/events/step-state.ts'
import { formatDuration } from '../base/durations.ts'
import { formatCost } from './amounts.ts'
import { renderTable } from './table.ts'

/** A past or present run, as read from its record. */
export interface RecordedRun {
  readonly id: string
  /** For a run without steps, `open`: some tasks have not ended; `unknown`: its tasks cannot be read. */
  readonly status:
    'running' | 'waiting' | 'complete' | 'failed' | 'stopped' | 'dead' | 'open' | 'unknown'
  readonly state: RunState
  /** Absent if it never had tasks. */
  readonly counts?: TaskCounts | undefined
  readonly unreadable?: string | undefined
  /** Whether it is dead, and processes of it are alive. */
  readonly hasOrphans?: boolean
  readonly isChat?: boolean
}

/** The command that continues a run; `id` may be followed by options. */
export function resumeCommand(id: string, isChat = false): string {
  return isChat ? `forkhestra chat --resume ${id}` : `forkhestra resume ${id}`
}

/** For a command that continues a run, where processes of it are in the way. */
export function orphansOption({ hasOrphans }: Pick<RecordedRun, 'hasOrphans'>): string {
  return hasOrphans === true ? ' --kill-orphans' : ''
}

export interface TaskCounts {
  readonly queued: number
  readonly ready: number
  readonly running: number
  readonly failed: number
  /** How many of the failed ones were done later by another task. */
  readonly redone?: number | undefined
  readonly done: number
}

const WIDEST = 50

/** One line per run: id, status, chain, place, duration, cost, age. */
export function renderRuns(runs: readonly RecordedRun[], now: number): string[] {
  return renderTable(
    runs.map((run) => [
      run.id,
      run.status,
      shorten(describeChain(run)),
      describePlace(run, now),
      formatDuration(durationOf(run, now)),
      run.state.spent.costUsd > 0 ? formatCost(run.state.spent) : '-',
      formatAge(run.state.startedAt, now),
    ]),
    new Set([4, 5]),
  )
}

/** The name of the chain, or its steps (`planner:3 -> builder:20`), or its tasks if it has no steps. */
export function describeChain({
  state,
  counts,
  unreadable,
}: Pick<RecordedRun, 'state' | 'counts' | 'unreadable'>): string {
  if (state.chain !== undefined) return printable(state.chain)
  if (state.steps.length === 0 && unreadable !== undefined) return 'queue: cannot be read'
  if (state.steps.length === 0 && counts !== undefined) return `queue: ${describeCounts(counts)}`
  return describeSteps(state)
}

/** `3 queued, 6 failed, 7 done`. */
export function describeCounts(counts: TaskCounts): string {
  const states = ['queued', 'ready', 'running', 'failed', 'done'] as const
  const redone = counts.redone ? ` (${counts.redone} redone)` : ''
  const words = states.flatMap((state) =>
    counts[state] === 0 ? [] : [`${counts[state]} ${state}${state === 'failed' ? redone : ''}`],
  )
  return words.length === 0 ? 'empty' : words.join(', ')
}

export function describeSteps(state: RunState): string {
  const words = ownSteps(state).map(({ agent, maxIterations }) =>
    maxIterations === undefined ? agent : `${agent}:${maxIterations}`,
  )
  return printable(words.join(' -> '))
}

/** `step 2/3, iteration 5/20, stalled`. */
export function describePlace({ status, state }: RecordedRun, now: number): string {
  const steps = ownSteps(state)
  if (steps.length === 0) return ''
  const step = currentStep(state)
  if (status === 'complete' || step === undefined) {
    return `${steps.filter(isSettled).length}/${steps.length} steps`
  }
  const { number, iterations, maxIterations, reason } = step
  const wait = state.waiting
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

/** The step that runs, comes next, or failed. */
export function currentStep({ steps, at }: RunState): StepState | undefined {
  const recovery = steps.find((step) => step.isRecovery === true && step.isOpen)
  const next = steps[at - 1]
  if (recovery !== undefined || (next !== undefined && next.isRecovery !== true))
    return recovery ?? next
  return steps.find((step) => step.reason !== undefined && !isPassedBy(step))
}

/** Whether the run will not return to a step. */
function isPassedBy(step: StepState): boolean {
  return isSettled(step) || step.reason === 'skipped'
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

export function shorten(text: string): string {
  return text.length > WIDEST ? `${text.slice(0, WIDEST - 1).toWellFormed()}…` : text
}
