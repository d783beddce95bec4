import { printable } from '../base/printable.ts'
import type { EventOf } from '../events/event.ts'
import { outcomeWords } from '../events/outcome-words.ts'
import type { Outcome, Usage } from '../events/schema.ts'
import { isComplete, type StepState } from '../events/step-state.ts'
import { counted } from '../base/amounts.ts'
import { durationWords } from '../base/durations.ts'
import { localTime } from '../base/local-time.ts'
import { costWords, spentWords } from './amounts.ts'
import { nextSteps } from './next-steps.ts'
import { notesOn } from './notes.ts'
import {
  agoWords,
  chainWords,
  durationOf,
  leftWords,
  shorten,
  stepsWords,
  type RecordedRun,
} from './runs.ts'
import { nextForTasks, renderTasks, type ShownTasks } from './show-tasks.ts'
import { renderTable } from './table.ts'
import { countWords, isNotStarted, lacksWords, stepWords } from './words.ts'

/** One iteration in a line. */
export interface IterationBrief {
  readonly iteration: number
  readonly attempt: number
  /** Absent where it has not ended. */
  readonly outcome?: Outcome | undefined
  /** Whether it does not count, and comes again. */
  readonly again?: boolean | undefined
  readonly ms?: number | undefined
  readonly usage?: Usage | undefined
  readonly commits?: number | undefined
  readonly files?: number | undefined
}

/** What the state of a step does not tell. */
export interface StepDetails {
  /** Its gates and limits, in words. */
  readonly policy: readonly string[]
  /** The newest. */
  readonly iterations: readonly IterationBrief[]
  /** How many older ones there are. */
  readonly older: number
}

export interface ShownRun extends RecordedRun {
  readonly folder: string
  /** What of its events is missing, in words. */
  readonly damage: readonly string[]
  /** Why it does not count as made here, in words. */
  readonly foreign?: string | undefined
  /** Gates and limits of the chain as a whole, in words. */
  readonly policy: readonly string[]
  /** Absent where it had none. */
  readonly tasks?: ShownTasks | undefined
}

type Details = (step: StepState) => StepDetails

/** A run for a person who comes back to it: how it went, where it is, what to do next. */
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
    `Run ${run.id}: ${run.status}${endWords(run)}`,
    `  ${state.steps.length === 0 ? chainWords(run) : chain + stepsWords(state)}`,
    `  in ${printable(state.cwd ?? '?')}, begun ${agoWords(state.startedAt, now)}`,
    `  ${spentWords(spent)}`,
    ...run.policy.map((words) => `  ${printable(words)}`),
    `  record: ${printable(recordWords(run))}`,
    ...(run.foreign === undefined ? [] : [`  not made here: ${run.foreign}`]),
    ...(run.damage.length > 0 ? [`  the record is damaged: ${run.damage.join(', ')}`] : []),
    ...notesOn(state).flatMap(({ words, isOfStep }) => (isOfStep === true ? [] : [`  ${words}`])),
    ...(isLost(run) ? [`  cannot be resumed: ${printable(lacksWords(state.lacks!))}`] : []),
    ...steps.flatMap((step) => ['', ...renderStep(run, step, of(step), now)]),
    ...(run.tasks === undefined ? [] : renderTasks(run, run.tasks)),
    '',
    'Next:',
    ...renderTable(nexts.map(([command, why]) => [`  ${command}`, why])),
  ]
}

function foreignNexts({ id }: ShownRun): (readonly [string, string])[] {
  return [
    [`forkhestra resume ${id}`, 'see what it would do, and what is needed first'],
    [`forkhestra logs ${id}`, 'what was printed'],
  ]
}

/** Where it is now; as it was recorded, where a secret is in the path. */
function recordWords({ folder, state: { record } }: ShownRun): string {
  return record?.includes('[masked') === true ? record : folder
}

/** Whether nobody can go on with it. */
function isLost({ status, state: { lacks } }: ShownRun): boolean {
  const isOver = status === 'failed' || status === 'stopped' || status === 'dead'
  return isOver && lacks !== undefined && lacks.prompt !== true
}

function endWords({ state: { ended, steps } }: ShownRun): string {
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
    ...(step.rounds > 1 ? [`  begun ${step.rounds} times`] : []),
    ...notQueuedLine(step),
    ...deletedLine(step),
    ...(step.rounds > 0 ? [`  ${spentWords(step.spent)}${failed}`] : []),
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
      ? `waits (${why}) until ${localTime(until)}, ${leftWords(until, now)}`
      : `was waiting (${why}) until ${localTime(until)}`
  return printable(`  ${words}: ${error}`)
}

/** `complete (marker)`, `failed (stalled: …)`, `iteration 5/20`, `not begun`. */
function stepStatus({ status }: ShownRun, step: StepState): string {
  const { reason, detail, iterations, maxIterations, isOpen } = step
  const of = maxIterations === undefined ? '' : `/${maxIterations}`
  if (reason === undefined) {
    if (!isOpen) return 'not begun'
    const place = iterations === 0 ? 'begun' : `at iteration ${iterations}${of}`
    return status === 'running' || status === 'waiting' ? place : `broken off ${place}`
  }
  const isSaid = detail?.startsWith(reason) === true
  const why = isSaid ? printable(detail) : [reason, detail ?? []].flat().map(printable).join(': ')
  if (step.isUnmarked === true || isNotStarted(step)) return printable(stepWords(step))
  if (reason === 'skipped') return `skipped${detail === undefined ? '' : ` (${printable(detail)})`}`
  const count = maxIterations === undefined ? '' : `${countWords(step)}, `
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
    outcome === undefined ? 'not ended' : shorten(endingWords(outcome)),
    ms === undefined ? '' : durationWords(ms),
    usage?.costUsd === undefined
      ? ''
      : costWords({ costUsd: usage.costUsd, billing: usage.billing }),
    changes.join(', '),
  ]
}

/** How an iteration ended, in words for every kind of end. */
export function endingWords(outcome: Outcome): string {
  if (outcome.kind === 'blocked') return `blocked: ${printable(outcome.reason)}`
  if (outcome.kind === 'spawn_failed') return `could not be started: ${printable(outcome.error)}`
  const words = outcomeWords(outcome)
  return printable(words === '' ? outcome.kind.replaceAll('_', ' ') : words)
}
