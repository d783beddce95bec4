import { printable } from '../base/printable.ts'
import { type RunState } from '../events/state.ts'
import { isSettled, type StepState } from '../events/step-state.ts'
import { durationWords } from '../base/durations.ts'
import { costWords } from './amounts.ts'
import { renderTable } from './table.ts'

/** A run of the past or the present, as far as its record tells. */
export interface RecordedRun {
  readonly id: string
  /** Of one without steps, `open`: tasks have not ended; `unknown`: they cannot be read. */
  readonly status:
    'running' | 'waiting' | 'complete' | 'failed' | 'stopped' | 'dead' | 'open' | 'unknown'
  readonly state: RunState
  /** Absent where it never had any tasks. */
  readonly counts?: TaskCounts | undefined
  /** Why they cannot be read. */
  readonly unreadable?: string | undefined
}

/** How many tasks are how far. */
export interface TaskCounts {
  readonly queued: number
  readonly ready: number
  readonly running: number
  readonly failed: number
  readonly done: number
}

const WIDEST = 50

/** A line per run: id, status, what, where, how long, what it cost, when. */
export function renderRuns(runs: readonly RecordedRun[], now: number): string[] {
  return renderTable(
    runs.map((run) => [
      run.id,
      run.status,
      shorten(chainWords(run)),
      placeWords(run, now),
      durationWords(durationOf(run, now)),
      run.state.spent.costUsd > 0 ? costWords(run.state.spent) : '-',
      agoWords(run.state.startedAt, now),
    ]),
    new Set([4, 5]),
  )
}

/** The name of the chain, or its steps: `planner:3 -> builder:20`; without any its tasks. */
export function chainWords({
  state,
  counts,
  unreadable,
}: Pick<RecordedRun, 'state' | 'counts' | 'unreadable'>): string {
  if (state.chain !== undefined) return printable(state.chain)
  if (state.steps.length === 0 && unreadable !== undefined) return 'queue: cannot be read'
  if (state.steps.length === 0 && counts !== undefined) return `queue: ${countWords(counts)}`
  return stepsWords(state)
}

/** `3 queued, 6 failed, 7 done`. */
export function countWords(counts: TaskCounts): string {
  const states = ['queued', 'ready', 'running', 'failed', 'done'] as const
  const words = states.flatMap((state) =>
    counts[state] === 0 ? [] : [`${counts[state]} ${state}`],
  )
  return words.length === 0 ? 'empty' : words.join(', ')
}

export function stepsWords(state: RunState): string {
  const words = ownSteps(state).map(({ agent, maxIterations }) =>
    maxIterations === undefined ? agent : `${agent}:${maxIterations}`,
  )
  return printable(words.join(' -> '))
}

/** `step 2/3, iteration 5/20, stalled`. */
export function placeWords({ status, state }: RecordedRun, now: number): string {
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
    ...(status === 'waiting' && wait !== undefined ? [leftWords(wait.until, now)] : []),
  ].join(', ')
}

/** `goes on in 1 h 05 min`. */
export function leftWords(until: string, now: number): string {
  const left = Date.parse(until) - now
  return left > 0 ? `goes on in ${durationWords(left)}` : 'goes on now'
}

/** The step at which the run is, or at which it failed. */
export function currentStep({ steps, at }: RunState): StepState | undefined {
  const mending = steps.find((step) => step.isRecovery === true && step.isOpen)
  const next = steps[at - 1]
  if (mending !== undefined || (next !== undefined && next.isRecovery !== true))
    return mending ?? next
  return steps.find((step) => step.reason !== undefined && !isPassedBy(step))
}

/** Whether the run has gone past it without having to come back. */
function isPassedBy(step: StepState): boolean {
  return isSettled(step) || step.reason === 'skipped'
}

/** The steps that people wrote, without those that run only where one fails. */
function ownSteps({ steps }: RunState): StepState[] {
  return steps.filter((step) => step.isRecovery !== true)
}

/** The time in which it was carried out; one that runs has taken some since its last event. */
export function durationOf({ status, state }: RecordedRun, now: number): number {
  const isDriven = status === 'running' || status === 'waiting'
  const since = isDriven && state.clock !== undefined ? Math.max(0, now - state.clock) : 0
  return state.spent.ms + since
}

const DAYS_MS = 2 * 86_400_000

/** `8 h 12 min ago`, and the day where that is long ago. */
export function agoWords(startedAt: string | undefined, now: number): string {
  if (startedAt === undefined) return 'just now'
  const ms = now - Date.parse(startedAt)
  return ms > DAYS_MS ? startedAt.slice(0, 10) : `${durationWords(Math.max(0, ms))} ago`
}

/** What fits into a column. */
export function shorten(text: string): string {
  return text.length > WIDEST ? `${text.slice(0, WIDEST - 1).toWellFormed()}…` : text
}
