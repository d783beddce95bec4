import { printable } from '../base/terminal/printable.ts'
import { type StepState } from '../records/events/step-state.ts'
import { formatSpent } from './amounts.ts'
import { groupByStep } from './copies.ts'
import { describeMerges, readerIn } from './merges.ts'
import { nextSteps } from './next-steps.ts'
import { notesOn } from './notes.ts'
import { formatAge, describeChain, durationOf, describeSteps, type RecordedRun } from './runs.ts'
import { renderCopies, type StepDetails } from './show-steps.ts'
import { nextForTasks, renderTaskSection, type FailedTask, type ShownTasks } from './show-tasks.ts'
import { renderTable } from './table.ts'
import { describeMissingSecrets } from './describe.ts'

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

/** Shows a run in detail: how it went, where it is, what to do next. */
export function renderRun(
  run: ShownRun,
  steps: readonly StepState[],
  of: (step: StepState) => StepDetails,
  { now, here }: { readonly now: number; readonly here?: string },
) {
  const { state } = run
  const { merged, left } = describeMerges(state, readerIn(here, state.cwd))
  const chain = state.chain === undefined ? '' : `${state.chain}: `
  const spent = { ...state.spent, ms: durationOf(run, now) }
  const forTasks =
    run.tasks === undefined ? [] : nextForTasks(run, run.tasks, here, run.failedTasks)
  const nexts =
    run.foreign === undefined ? [...nextSteps(run, here), ...forTasks] : foreignNexts(run)
  return [
    `Run ${run.id}: ${run.status}${run.isStopping ? ' (stopping)' : describeEnd(run)}`,
    `  ${state.steps.length === 0 ? describeChain(run) : chain + describeSteps(state)}`,
    `  in ${state.cwd ?? '?'}, started ${formatAge(state.startedAt, now)}`,
    `  ${formatSpent(spent)}`,
    ...run.policy.map((words) => `  ${words}`),
    `  record: ${describeRecord(run)}`,
    ...(run.foreign === undefined ? [] : [`  not created here: ${run.foreign}`]),
    ...(run.damage.length > 0 ? [`  the record is damaged: ${run.damage.join(', ')}`] : []),
    ...notesOn(state).flatMap(({ words, isOfStep }) => (isOfStep === true ? [] : [`  ${words}`])),
    ...(run.openTasks === undefined ? [] : [`  tasks of the project now: ${run.openTasks}`]),
    ...(isLost(run) ? [`  cannot be resumed: ${describeMissingSecrets(state.lacks!)}`] : []),
    ...merged.map((words) => `  ${words}`),
    ...left.map(({ words }) => `  ${words}`),
    ...groupByStep(steps).flatMap((copies) => ['', ...renderCopies(run, copies, of, now)]),
    ...(run.tasks === undefined ? [] : renderTaskSection(run, run.tasks)),
    '',
    'Next:',
    ...renderTable(nexts.map(([command, why]) => [`  ${command}`, why])),
  ].map(printable)
}

function foreignNexts({ id }: ShownRun): (readonly [string, string])[] {
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
