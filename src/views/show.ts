import { localTime } from '../base/local-time.ts'
import { printable } from '../base/terminal/printable.ts'
import { type StepState } from '../records/events/step-state.ts'
import { formatSpent } from './amounts.ts'
import { groupByStep } from './copies.ts'
import { cwdOption, describeMissingSecrets, describeReason } from './describe.ts'
import { wrapWords, type Layout } from './layout.ts'
import { describeMerges, readerIn } from './merges.ts'
import { nextSteps, resumeSteps } from './next-steps.ts'
import { notesOn, type NextStep } from './notes.ts'
import {
  currentStep,
  describeChain,
  describeSteps,
  durationOf,
  formatAge,
  lookOf,
  type RecordedRun,
} from './runs.ts'
import { renderCopies, type StepDetails } from './show-steps.ts'
import { nextForTasks, renderTaskSection, type FailedTask, type ShownTasks } from './show-tasks.ts'
import { renderTable } from './table.ts'

export interface ShownRun extends RecordedRun {
  readonly folder: string
  readonly damage: readonly string[]
  /** Why it does not count as made here, in words. */
  readonly foreign?: string | undefined
  /** Gates and limits of the chain as a whole, in words. */
  readonly policy: readonly string[]
  /** Absent if it had none. */
  readonly tasks?: ShownTasks | undefined
  /** The failed tasks of a run that is only a queue. */
  readonly failedTasks?: readonly FailedTask[] | undefined
  /** The tasks of forge-tasks that are open now, in words. */
  readonly openTasks?: string | undefined
}

interface Shown {
  readonly now: number
  readonly here?: string
  readonly layout: Layout
}

/** Shows a run in detail: how it went, where it is, what to do next. */
export function renderRun(
  run: ShownRun,
  steps: readonly StepState[],
  of: (step: StepState) => StepDetails,
  { now, here, layout }: Shown,
): string[] {
  const { state } = run
  const { merged, left } = describeMerges(state, readerIn(here, state.cwd))
  const chain = state.chain === undefined ? '' : `${state.chain}: `
  const spent = { ...state.spent, ms: durationOf(run, now) }
  const lines = [
    state.steps.length === 0 ? describeChain(run) : chain + describeSteps(state),
    `in ${state.cwd ?? '?'}`,
    describeTimes(run, now),
    formatSpent(spent),
    ...run.policy,
    `record: ${describeRecord(run)}`,
    ...(run.foreign === undefined ? [] : [`not created here: ${run.foreign}`]),
    ...(run.damage.length > 0 ? [`the record is damaged: ${run.damage.join(', ')}`] : []),
    ...notesOn(state).flatMap(({ words, isOfStep }) => (isOfStep === true ? [] : [words])),
    ...(run.openTasks === undefined ? [] : [`tasks of the project now: ${run.openTasks}`]),
    ...(isLost(run) ? [`cannot be resumed: ${describeMissingSecrets(state.lacks!)}`] : []),
    ...merged,
    ...left.map(({ words }) => words),
    ...(run.foreign === undefined ? describeContinuation(run, here) : []),
  ]
  return [
    `Run ${run.id}: ${layout.paint[lookOf(run)](run.status)}${printable(run.isStopping ? ' (stopping)' : describeEnd(run))}`,
    ...lines.flatMap((line) => wrapWords(`  ${printable(line)}`, layout)),
    ...groupByStep(steps).flatMap((copies) => ['', ...renderCopies(run, copies, of, now, layout)]),
    ...(run.tasks === undefined ? [] : renderTaskSection(run, run.tasks, layout)),
    '',
    `${layout.paint.bold('Next')}:`,
    ...renderTable(nextStepsOf(run, here), { indent: '  ', flexible: 1, layout }),
  ]
}

/** `started 2026-01-20 22:00, ended 06:12 (8 h 12 min ago)`. */
export function describeTimes(
  { status, state: { startedAt, ended, clock } }: RecordedRun,
  now: number,
): string {
  if (startedAt === undefined) return 'not started yet'
  const start = localTime(startedAt)
  const isActive = status === 'running' || status === 'waiting'
  // The last event of a killed run is its last sign of life.
  const end = isActive ? undefined : (ended?.at ?? (clock && new Date(clock).toISOString()))
  if (!end) return `started ${start} (${formatAge(startedAt, now)})`
  const shown = localTime(end)
  const time = shown.slice(0, 10) === start.slice(0, 10) ? shown.slice(11) : shown
  const verb = ended === undefined ? 'last seen' : 'ended'
  return `started ${start}, ${verb} ${time} (${formatAge(end, now)})`
}

/** Why it ended, and the command that continues it. */
export function describeContinuation(run: RecordedRun, here: string | undefined): string[] {
  const { status, state } = run
  if (!['failed', 'stopped', 'dead'].includes(status) || state.steps.length === 0) return []
  const step = currentStep(state)
  const isEnded = step?.reason !== undefined && step.reason !== 'skipped'
  const id = `${run.id}${cwdOption(state.cwd, here)}`
  return [
    ...(isEnded
      ? [`ended at step ${step.number}, ${step.name ?? step.agent}: ${describeReason(step)}`]
      : []),
    ...resumeSteps(run, id).map(([command]) => `to continue: ${command}`),
  ]
}

/** The commands that come next, also for queued tasks. */
export function nextStepsOf(run: ShownRun, here: string | undefined): NextStep[] {
  if (run.foreign !== undefined) return foreignNexts(run)
  const { tasks, failedTasks } = run
  const forTasks = tasks === undefined ? [] : nextForTasks(run, tasks, here, failedTasks)
  return [...nextSteps(run, here), ...forTasks]
}

function foreignNexts({ id }: ShownRun): NextStep[] {
  return [
    [`forkhestra resume ${id}`, 'see what it would do and what it needs first'],
    [`forkhestra logs ${id}`, 'its output'],
  ]
}

/** The folder of the record, or its recorded path if that contains a masked secret. */
function describeRecord({ folder, state: { record } }: ShownRun): string {
  return record?.includes('[masked') === true ? record : folder
}

function isLost({ status, state: { lacks } }: ShownRun): boolean {
  const isOver = status === 'failed' || status === 'stopped' || status === 'dead'
  return isOver && lacks !== undefined && lacks.prompt !== true
}

function describeEnd({ state: { ended, steps } }: ShownRun): string {
  if (ended === undefined || steps.length === 0) return ''
  const stopped = ended.stopped === undefined ? '' : `, ${ended.stopped}`
  return ` (exit code ${ended.exitCode}${stopped})`
}
