import { isInBranch } from '../records/events/branch-state.ts'
import type { Reason } from '../records/events/schema.ts'
import type { StepState } from '../records/events/step-state.ts'
import { copyNumber } from './copies.ts'
import { cwdOption, describeResumeOptions } from './describe.ts'
import { describeMerges, readerIn } from './merges.ts'
import { notesOn, type NextStep } from './notes.ts'
import { currentStep, orphansOption, resumeCommand, type RecordedRun } from './runs.ts'

/** Helpful commands besides a resume, by the reason for which the step ended. */
const ADVICE: Partial<Record<Reason, NextStep>> = {
  auth: ['forkhestra doctor', 'what is missing'],
  error: ['forkhestra doctor', 'what is missing'],
  blocked: ['forge-tasks list --ready --explain', 'what each task waits for'],
}

/** Commands that may be useful next. `nextForTasks` adds those for queued tasks. */
export function nextSteps(run: RecordedRun, here?: string): NextStep[] {
  const { status, state } = run
  const id = `${run.id}${cwdOption(state.cwd, here)}`
  const hasSteps = state.steps.length > 0
  const logs = `forkhestra logs ${id}`
  const work = hasSteps ? 'iteration' : 'running tasks'
  const stop: NextStep = run.isStopping
    ? [`forkhestra stop ${id} --now`, 'stop at once']
    : [`forkhestra stop ${id}`, `finish the ${work}, then stop`]
  if (status === 'waiting' && hasSteps) {
    return [
      [`forkhestra retry-now ${id}`, 'stop waiting and retry'],
      [`forkhestra stop ${id}`, 'stop waiting and end the run'],
    ]
  }
  if (status === 'running' || status === 'waiting')
    return [[`${logs} --follow`, 'its output'], stop]
  const notes = notesOn(state).map(({ next }) => next)
  if (!hasSteps || status === 'open' || status === 'unknown') return [[logs, 'its output']]
  const { left } = describeMerges(state, readerIn(here, state.cwd))
  const merges = left.map(({ next }) => next)
  if (status === 'complete') return [...notes, ...merges, [logs, 'its output']]

  const step = currentStep(state)
  const copy = step === undefined ? '' : copyNumber(step).replace('#', ' --copy ')
  const place = step === undefined ? '' : ` --step ${step.number}${copy}`
  const advice = step && adviceFor(step, run, id)
  const hasIteration = step !== undefined && step.iterations > 0 && step.running === undefined
  const iteration = `forkhestra show ${id}${place} --iteration ${step?.iterations}`
  return [
    ...(advice === undefined ? [] : [advice]),
    ...notes,
    // In a group, an earlier step may run again first.
    ...resumeSteps(run, id, step?.list === '' ? ` at step ${step.number}` : ''),
    ...merges,
    ...(hasIteration ? [[iteration, 'the last iteration'] as const] : []),
    [`${logs}${place}`, 'its output'],
  ]
}

function adviceFor(step: StepState, { state, isChat }: RecordedRun, id: string) {
  const { key, reason, cause, lastOutcome } = step
  // A blocked agent has already said what it needs.
  if (reason === undefined || lastOutcome?.kind === 'blocked') return undefined
  if (cause !== 'check_failed') return ADVICE[reason]
  const command = `${resumeCommand(id, isChat)} --verify "SETUP && CHECK"`
  return isInBranch(state, key)
    ? ([command, 'if the check needs ignored files'] as const)
    : undefined
}

/** How to resume a run; empty if its record does not contain enough. */
export function resumeSteps(run: RecordedRun, id: string, place = ''): NextStep[] {
  const needs = describeResumeOptions(run.state, currentStep(run.state))
  if (needs === undefined) return []
  const command = `${resumeCommand(id, run.isChat)}${needs.options}${orphansOption(run)}`
  return [[command, `resume${place}${needs.why}`]]
}
