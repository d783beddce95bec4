import { printable } from '../base/terminal/printable.ts'
import type { EventOf } from '../records/events/event.ts'
import { describeOutcome } from '../records/events/describe-outcome.ts'
import type { Outcome, Usage } from '../records/events/schema.ts'
import { isComplete, type StepState } from '../records/events/step-state.ts'
import { counted } from '../base/amounts.ts'
import { formatDuration } from '../base/durations.ts'
import { localTime } from '../base/local-time.ts'
import { formatCost, formatSpent } from './amounts.ts'
import { nextSteps } from './next-steps.ts'
import { notesOn } from './notes.ts'
import {
  formatAge,
  describeChain,
  durationOf,
  describeLeft,
  shorten,
  describeSteps,
  type RecordedRun,
} from './runs.ts'
import { nextForTasks, renderTasks, type ShownTasks } from './show-tasks.ts'
import { renderTable } from './table.ts'
import {
  describeBlockedTasks,
  describeCount,
  isNotStarted,
  describeMissingSecrets,
  describeStep,
} from './describe.ts'

export interface IterationBrief {
  readonly iteration: number
  readonly attempt: number
  /** Absent if it has not ended. */
  readonly outcome?: Outcome | undefined
  /** Whether it does not count and is repeated. */
  readonly again?: boolean | undefined
  readonly ms?: number | undefined
  readonly usage?: Usage | undefined
  readonly commits?: number | undefined
  readonly files?: number | undefined
}

/** Details that the state of a step does not contain. */
export interface StepDetails {
  readonly policy: readonly string[]
  /** The newest iterations. */
  readonly iterations: readonly IterationBrief[]
  /** How many older ones there are. */
  readonly older: number
}

export interface ShownRun extends RecordedRun {
  readonly folder: string
  readonly damage: readonly string[]
  /** Why it does not count as made here, in words. */
  readonly foreign?: string | undefined
  /** Gates and limits of the chain as a whole, in words. */
  readonly policy: readonly string[]
  /** Absent if it had none. */
  readonly tasks?: ShownTasks | undefined
  /** The tasks of forge-tasks that are open now, in words. */
  readonly openTasks?: string | undefined
}

type Details = (step: StepState) => StepDetails

/** A run in detail: how it went, where it is, what to do next. */
export function renderRun(
  run: ShownRun,
  steps: readonly StepState[],
  of: Details,
  { now, here }: { readonly now: number; readonly here?: string },
) {
  const { state } = run
  const chain = state.chain === undefined ? '' : `${printable(state.chain)}: `
  const spent = { ...state.spent, ms: durationOf(run, now) }
  const forTasks = run.tasks === undefined ? [] : nextForTasks(run, run.tasks, here)
  const nexts =
    run.foreign === undefined ? [...nextSteps(run, here), ...forTasks] : foreignNexts(run)
  return [
    `Run ${run.id}: ${run.status}${describeEnd(run)}`,
    `  ${state.steps.length === 0 ? describeChain(run) : chain + describeSteps(state)}`,
    `  in ${printable(state.cwd ?? '?')}, started ${formatAge(state.startedAt, now)}`,
    `  ${formatSpent(spent)}`,
    ...run.policy.map((words) => `  ${printable(words)}`),
    `  record: ${printable(describeRecord(run))}`,
    ...(run.foreign === undefined ? [] : [`  not made here: ${run.foreign}`]),
    ...(run.damage.length > 0 ? [`  the record is damaged: ${run.damage.join(', ')}`] : []),
    ...notesOn(state).flatMap(({ words, isOfStep }) => (isOfStep === true ? [] : [`  ${words}`])),
    ...(run.openTasks === undefined
      ? []
      : [`  tasks of the project now: ${printable(run.openTasks)}`]),
    ...(isLost(run)
      ? [`  cannot be resumed: ${printable(describeMissingSecrets(state.lacks!))}`]
      : []),
    ...steps.flatMap((step) => ['', ...renderStep(run, step, of(step), now)]),
    ...(run.tasks === undefined ? [] : renderTasks(run, run.tasks)),
    '',
    'Next:',
    ...renderTable(nexts.map(([command, why]) => [`  ${command}`, why])),
  ]
}

function foreignNexts({ id }: ShownRun): (readonly [string, string])[] {
  return [
    [`forkhestra resume ${id}`, 'see what it would do and what it needs first'],
    [`forkhestra logs ${id}`, 'what was printed'],
  ]
}

/** The current folder, or the recorded path if that contains a masked secret. */
function describeRecord({ folder, state: { record } }: ShownRun): string {
  return record?.includes('[masked') === true ? record : folder
}

function isLost({ status, state: { lacks } }: ShownRun): boolean {
  const isOver = status === 'failed' || status === 'stopped' || status === 'dead'
  return isOver && lacks !== undefined && lacks.prompt !== true
}

function describeEnd({ state: { ended, steps } }: ShownRun): string {
  if (ended === undefined || steps.length === 0) return ''
  const stopped = ended.stopped === undefined ? '' : `, ${printable(ended.stopped)}`
  return ` (exit code ${ended.exitCode}${stopped})`
}

function renderStep(run: ShownRun, step: StepState, details: StepDetails, now: number): string[] {
  const name = step.name === undefined ? '' : ` (${step.name})`
  const kind = step.isRecovery === true ? 'Recovery' : 'Step'
  const wait = run.state.waiting
  const failed = step.failures > 0 ? `; ${counted(step.failures, 'iteration')} failed` : ''
  return [
    `${kind} ${step.number}: ${printable(`${step.agent}${name}`)}: ${stepStatus(run, step)}`,
    ...details.policy.map((words) => `  ${printable(words)}`),
    ...(step.rounds > 1 ? [`  started ${step.rounds} times`] : []),
    ...notQueuedLine(step),
    ...deletedLine(step),
    ...describeBlockedTasks(step).map((line) => printable(`  ${line}`)),
    ...(step.rounds > 0 ? [`  ${formatSpent(step.spent)}${failed}`] : []),
    ...(wait?.step === step.number ? [waitLine(run, wait, now)] : []),
    ...(details.older > 0 ? [`  … ${counted(details.older, 'older iteration')}`] : []),
    ...renderTable(details.iterations.map(iterationCells), new Set([1, 3, 4])),
  ]
}

function notQueuedLine({ notQueued = [] }: StepState): string[] {
  const names = notQueued.map(({ name, error }) => `${name} (${error})`).join(', ')
  return names === '' ? [] : [printable(`  not queued after it: ${names}`)]
}

function deletedLine({ deletedTasks = [] }: StepState): string[] {
  return deletedTasks.length === 0 ? [] : [printable(`  deleted tasks: ${deletedTasks.join(', ')}`)]
}

function waitLine({ status }: ShownRun, wait: EventOf<'waiting'>, now: number): string {
  const { why, until, error } = wait
  const words =
    status === 'waiting'
      ? `waits (${why}) until ${localTime(until)}, ${describeLeft(until, now)}`
      : `was waiting (${why}) until ${localTime(until)}`
  return printable(`  ${words}: ${error}`)
}

/** `complete (marker)`, `failed (stalled: …)`, `iteration 5/20`, `not started`. */
function stepStatus({ status }: ShownRun, step: StepState): string {
  const { reason, detail, iterations, maxIterations, isOpen } = step
  const of = maxIterations === undefined ? '' : `/${maxIterations}`
  if (reason === undefined) {
    if (!isOpen) return 'not started'
    const place = iterations === 0 ? 'started' : `at iteration ${iterations}${of}`
    return status === 'running' || status === 'waiting' ? place : `interrupted ${place}`
  }
  const isSaid = detail?.startsWith(reason) === true
  const why = isSaid ? printable(detail) : [reason, detail ?? []].flat().map(printable).join(': ')
  const isWorded = reason === 'skipped' || reason === 'single_run'
  if (step.isUnmarked === true || isNotStarted(step) || isWorded)
    return printable(describeStep(step))
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
    outcome === undefined ? 'not ended' : shorten(describeEnding(outcome)),
    ms === undefined ? '' : formatDuration(ms),
    usage?.costUsd === undefined
      ? ''
      : formatCost({ costUsd: usage.costUsd, billing: usage.billing }),
    changes.join(', '),
  ]
}

/** How an iteration ended, for every kind of outcome. */
export function describeEnding(outcome: Outcome): string {
  if (outcome.kind === 'blocked') return `blocked: ${printable(outcome.reason)}`
  if (outcome.kind === 'spawn_failed') return `could not be started: ${printable(outcome.error)}`
  const words = describeOutcome(outcome)
  return printable(words === '' ? outcome.kind.replaceAll('_', ' ') : words)
}
