import { counted } from '../base/amounts.ts'
import { localTime } from '../base/local-time.ts'
import { printable } from '../base/terminal/printable.ts'
import type { Attempt } from '../records/events/attempts.ts'
import { branchName } from '../records/events/branch-name.ts'
import type { Spent } from '../records/events/schema.ts'
import { addUsage, NOTHING_SPENT } from '../records/events/spent.ts'
import { stepOf } from '../records/events/state.ts'
import { isComplete, isSettled, type StepState } from '../records/events/step-state.ts'
import { waitsOf } from '../records/events/waits.ts'
import { formatSpent } from './amounts.ts'
import { ATTEMPT_HEAD, ATTEMPT_NUMBERS, ATTEMPT_OUTCOME, attemptCells } from './attempts.ts'
import { copyNumber, listCopies } from './copies.ts'
import { describeBlockedTasks, describeCount, describeStep, isNotStarted } from './describe.ts'
import { wrapWords, type Layout } from './layout.ts'
import { describeLeft, type RecordedRun } from './runs.ts'
import { renderTable } from './table.ts'

/** Details that are not in the state of a step. */
export interface StepDetails {
  readonly policy: readonly string[]
  /** In the order of their starts. */
  readonly attempts: readonly Attempt[]
}

/** The run of the steps that are shown. */
type OfRun = Pick<RecordedRun, 'status' | 'state'>

type Details = (step: StepState) => StepDetails

export function renderCopies(
  run: OfRun,
  copies: readonly StepState[],
  of: Details,
  now: number,
  layout: Layout,
): string[] {
  const [step] = copies as [StepState]
  const failures = copies.reduce((sum, each) => sum + each.failures, 0)
  const failed = failures > 0 ? `; ${counted(failures, 'iteration')} failed` : ''
  const isOne = copies.length === 1
  const spent = isOne ? step.spent : sumSpent(copies)
  return [
    ...renderStatus(run, copies, layout),
    ...of(step).policy.map((line) => printable(`  ${line}`)),
    ...(isOne && step.rounds > 1 ? [`  started ${step.rounds} times`] : []),
    ...new Set(copies.flatMap((each) => [...notQueuedLine(each), ...deletedLine(each)])),
    ...new Set(copies.flatMap(describeBlockedTasks).map((line) => printable(`  ${line}`))),
    ...(step.rounds > 0 || !isOne ? [`  ${formatSpent(spent)}${failed}`] : []),
    ...copies.flatMap((each) => waitLines(run, each, now)),
  ]
    .flatMap((line) => wrapWords(line, layout))
    .concat(renderAttempts(run, copies, of, layout))
}

/** `Step 2: build: not complete (…)`; different ends of copies are on lines of their own. */
function renderStatus(run: OfRun, copies: readonly StepState[], layout: Layout): string[] {
  const { paint } = layout
  const ends = [...Map.groupBy(copies, (each) => stepStatus(run, each))]
  const painted = ends.map(([status, [step]]) => {
    const { reason } = step!
    const isOpen = reason === undefined || reason === 'skipped'
    return isOpen ? printable(status) : paint[isSettled(step!) ? 'green' : 'red'](printable(status))
  })
  const count = copies.length === 1 ? [] : [`${copies.length} copies`]
  const same = ends.length === 1 ? [painted[0]!] : []
  return [
    `${paint.bold(titleOf(copies))}: ${[...count, ...same].join(', ')}`,
    ...(ends.length === 1
      ? []
      : ends.map(([, some], index) => `  ${listCopies(some)}: ${painted[index]}`)),
  ]
}

function renderAttempts(
  run: OfRun,
  copies: readonly StepState[],
  of: Details,
  layout: Layout,
): string[] {
  const attempts = copies
    .flatMap((step) => of(step).attempts.map((attempt) => ({ attempt, step })))
    .toSorted((one, other) => (one.attempt.startedAt < other.attempt.startedAt ? -1 : 1))
  const dates = attempts.map(({ attempt }) => localTime(attempt.startedAt).slice(0, 10))
  const rows = attempts.map(({ attempt, step }) => [
    copies.length === 1 ? '' : nameOf(run, step),
    step.rounds > 1 ? String(attempt.round) : '',
    ...attemptCells(attempt, new Set(dates).size > 1),
  ])
  return renderTable(rows, {
    head: ['agent', 'round', ...ATTEMPT_HEAD],
    right: [1, ...ATTEMPT_NUMBERS.map((column) => column + 2)],
    flexible: ATTEMPT_OUTCOME + 2,
    indent: '  ',
    layout,
  })
}

/** Copies work at the same time, so their times are not added up. */
function sumSpent(copies: readonly StepState[]): Spent {
  return copies.reduce<Spent>(
    (sum, { spent }) => ({
      ...addUsage(sum, spent, false),
      iterations: sum.iterations + spent.iterations,
      ms: Math.max(sum.ms, spent.ms),
    }),
    NOTHING_SPENT,
  )
}

function nameOf({ state }: OfRun, { key, agent }: StepState): string {
  return branchName(state, key.split('/')) ?? agent
}

function titleOf(copies: readonly StepState[]): string {
  const [step] = copies as [StepState]
  const name = step.name === undefined ? '' : ` (${step.name})`
  const kind = step.isRecovery === true ? 'Recovery' : 'Step'
  const copy = copies.length > 1 ? '' : copyNumber(step)
  const which = copy === '' ? '' : `, copy ${copy.slice(1)}`
  return printable(`${kind} ${step.number}: ${step.agent}${name}${which}`)
}

function notQueuedLine({ notQueued = [] }: StepState): string[] {
  const names = notQueued.map(({ name, error }) => `${name} (${error})`).join(', ')
  return names === '' ? [] : [printable(`  not queued after it: ${names}`)]
}

function deletedLine({ deletedTasks = [] }: StepState): string[] {
  return deletedTasks.length === 0 ? [] : [printable(`  deleted tasks: ${deletedTasks.join(', ')}`)]
}

function waitLines({ status, state }: OfRun, step: StepState, now: number): string[] {
  const isActive = status === 'waiting' || status === 'running'
  const waits = waitsOf(state).filter((wait) => stepOf(state, wait).key === step.key)
  return waits.map(({ why, until, error }) => {
    const words = isActive
      ? `waits (${why}) until ${localTime(until)}, ${describeLeft(until, now)}`
      : `was waiting (${why}) until ${localTime(until)}`
    const copy = copyNumber(step)
    return printable(`  ${copy === '' ? '' : `${copy} `}${words}: ${error}`)
  })
}

/** `complete (marker)`, `not complete (stalled: …)`, `at iteration 5/20`, `not started`. */
function stepStatus({ status }: OfRun, step: StepState): string {
  const { reason, detail, iterations, maxIterations, isOpen } = step
  const of = maxIterations === undefined ? '' : `/${maxIterations}`
  if (reason === undefined) {
    if (!isOpen) return 'not started'
    const place =
      iterations === 0 ? 'before its first iteration' : `at iteration ${iterations}${of}`
    if (status !== 'running' && status !== 'waiting') return `interrupted ${place}`
    if (step.handsIn === true) return `${place}, waiting for its merge`
    return step.awaitsTask === true ? `${place}, waiting for a task` : place
  }
  const isSaid = detail?.startsWith(reason) === true
  const why = isSaid ? detail : [reason, detail ?? []].flat().join(': ')
  const isWorded = reason === 'skipped' || reason === 'single_run'
  if (step.isUnmarked === true || isNotStarted(step) || isWorded) return describeStep(step)
  const count = maxIterations === undefined ? '' : `${describeCount(step)}, `
  return `${isComplete(reason) ? 'complete' : 'not complete'} (${count}${why})`
}
