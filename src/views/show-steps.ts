import { branchName } from '../records/events/branch-name.ts'
import { describeOutcome } from '../records/events/describe-outcome.ts'
import type { Outcome, Spent, Usage } from '../records/events/schema.ts'
import { addUsage, NOTHING_SPENT } from '../records/events/spent.ts'
import { stepOf } from '../records/events/state.ts'
import { waitsOf } from '../records/events/waits.ts'
import { isComplete, type StepState } from '../records/events/step-state.ts'
import { counted } from '../base/amounts.ts'
import { formatDuration } from '../base/durations.ts'
import { localTime } from '../base/local-time.ts'
import { formatCost, formatSpent } from './amounts.ts'
import { copyNumber, listCopies } from './copies.ts'
import { describeLeft, WIDEST_CELL, type RecordedRun } from './runs.ts'
import { renderTable } from './table.ts'
import { cut } from './terminal/columns.ts'
import { describeBlockedTasks, describeCount, isNotStarted, describeStep } from './describe.ts'

export interface IterationBrief {
  readonly iteration: number
  readonly attempt: number
  /** Absent if it has not ended. */
  readonly startedAt?: string | undefined
  /** Absent if it has not ended. */
  readonly outcome?: Outcome | undefined
  /** Whether it does not count and is repeated. */
  readonly again?: boolean | undefined
  readonly ms?: number | undefined
  readonly usage?: Usage | undefined
  readonly commits?: number | undefined
  readonly files?: number | undefined
}

/** Details that are not in the state of a step. */
export interface StepDetails {
  readonly policy: readonly string[]
  /** The newest iterations. */
  readonly iterations: readonly IterationBrief[]
  /** How many older ones there are. */
  readonly older: number
}

/** The run of the steps that are shown. */
type OfRun = Pick<RecordedRun, 'status' | 'state'>

type Details = (step: StepState) => StepDetails

export function renderCopies(
  run: OfRun,
  copies: readonly StepState[],
  of: Details,
  now: number,
): string[] {
  const [step] = copies as [StepState]
  if (copies.length === 1) return renderStep(run, step, of(step), now)
  const failures = copies.reduce((sum, each) => sum + each.failures, 0)
  const failed = failures > 0 ? `; ${counted(failures, 'iteration')} failed` : ''
  const statuses = [...Map.groupBy(copies, (each) => stepStatus(run, each))]
  const same = statuses.length === 1 ? `, ${statuses[0]![0]}` : ''
  const lines = (each: StepState) => [...deletedLine(each), ...notQueuedLine(each)]
  const details = copies.map((each) => ({ ...of(each), name: nameOf(run, each) }))
  const iterations = details
    .flatMap(({ iterations: all, name }) => all.map((brief) => ({ ...brief, name })))
    .toSorted((one, other) => compare(one.startedAt, other.startedAt))
  const shown = iterations.slice(-MOST_ROWS)
  const older = details.reduce((sum, each) => sum + each.older, iterations.length - shown.length)
  return [
    `${titleOf(step)}: ${copies.length} copies${same}`,
    ...details[0]!.policy.map((words) => `  ${words}`),
    ...(same === '' ? statuses.map(([status, some]) => `  ${listCopies(some)}: ${status}`) : []),
    ...new Set(copies.flatMap(lines)),
    ...new Set(copies.flatMap(describeBlockedTasks).map((line) => `  ${line}`)),
    `  ${formatSpent(sumSpent(copies))}${failed}`,
    ...copies.flatMap((each) => waitLines(run, each, now)),
    ...(older > 0 ? [`  … ${counted(older, 'older iteration')}`] : []),
    ...renderTable(
      shown.map(({ name, ...brief }) => [' ', name, ...iterationCells(brief).slice(1)]),
      new Set([2, 4, 5]),
    ),
  ]
}

/** Rows of iterations of a step with copies. */
const MOST_ROWS = 20

/** Unfinished ones come last. */
function compare(one = '\uffff', other = '\uffff'): number {
  return one < other ? -1 : Number(one > other)
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

function titleOf(step: StepState): string {
  const name = step.name === undefined ? '' : ` (${step.name})`
  const kind = step.isRecovery === true ? 'Recovery' : 'Step'
  return `${kind} ${step.number}: ${step.agent}${name}`
}

function renderStep(run: OfRun, step: StepState, details: StepDetails, now: number): string[] {
  const copy = copyNumber(step)
  const title = copy === '' ? titleOf(step) : `${titleOf(step)}, copy ${copy.slice(1)}`
  const failed = step.failures > 0 ? `; ${counted(step.failures, 'iteration')} failed` : ''
  return [
    `${title}: ${stepStatus(run, step)}`,
    ...details.policy.map((words) => `  ${words}`),
    ...(step.rounds > 1
      ? [`  started ${step.rounds} times; the earlier ones: --step ${step.number} --round N`]
      : []),
    ...notQueuedLine(step),
    ...deletedLine(step),
    ...describeBlockedTasks(step).map((line) => `  ${line}`),
    ...(step.rounds > 0 ? [`  ${formatSpent(step.spent)}${failed}`] : []),
    ...waitLines(run, step, now),
    ...(details.older > 0 ? [`  … ${counted(details.older, 'older iteration')}`] : []),
    ...renderTable(details.iterations.map(iterationCells), new Set([1, 3, 4])),
  ]
}

function notQueuedLine({ notQueued = [] }: StepState): string[] {
  const names = notQueued.map(({ name, error }) => `${name} (${error})`).join(', ')
  return names === '' ? [] : [`  not queued after it: ${names}`]
}

function deletedLine({ deletedTasks = [] }: StepState): string[] {
  return deletedTasks.length === 0 ? [] : [`  deleted tasks: ${deletedTasks.join(', ')}`]
}

function waitLines({ status, state }: OfRun, step: StepState, now: number): string[] {
  const isActive = status === 'waiting' || status === 'running'
  const waits = waitsOf(state).filter((wait) => stepOf(state, wait).key === step.key)
  return waits.map(({ why, until, error }) => {
    const words = isActive
      ? `waits (${why}) until ${localTime(until)}, ${describeLeft(until, now)}`
      : `was waiting (${why}) until ${localTime(until)}`
    const copy = copyNumber(step)
    return `  ${copy === '' ? '' : `${copy} `}${words}: ${error}`
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

function iterationCells(brief: IterationBrief): string[] {
  const { iteration, attempt, outcome, again, ms, usage, commits = 0, files = 0 } = brief
  const changes = [
    ...(again === true ? ['does not count'] : []),
    ...(commits > 0 ? [counted(commits, 'commit')] : []),
    ...(files > 0 ? [counted(files, 'file')] : []),
  ]
  return [
    ' ',
    attempt > 1 ? `${iteration}.${attempt}` : String(iteration),
    outcome === undefined ? 'not ended' : cut(describeEnding(outcome), WIDEST_CELL),
    ms === undefined ? '' : formatDuration(ms),
    usage?.costUsd === undefined
      ? ''
      : formatCost({ costUsd: usage.costUsd, billing: usage.billing }),
    changes.join(', '),
  ]
}

/** How an iteration ended, for every kind of outcome. */
export function describeEnding(outcome: Outcome): string {
  if (outcome.kind === 'blocked') return `blocked: ${outcome.reason}`
  if (outcome.kind === 'spawn_failed') return `could not be started: ${outcome.error}`
  return describeOutcome(outcome) || outcome.kind.replaceAll('_', ' ')
}
