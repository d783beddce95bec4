import type { Reason } from '../records/events/schema.ts'
import { cwdOption, describeMissingSecrets, moreBudget } from './describe.ts'
import { notesOn, type Next } from './notes.ts'
import { currentStep, orphansOption, resumeCommand, type RecordedRun } from './runs.ts'

/** Helpful commands besides a resume, by the reason that ended the step. */
const ADVICE: Partial<Record<Reason, Next>> = {
  auth: ['forkhestra doctor', 'what is missing'],
  error: ['forkhestra doctor', 'what is missing'],
  blocked: ['forge-tasks list --ready --explain', 'what each task waits for'],
}

/** Commands that may be useful next. `nextForTasks` adds those for queued tasks. */
export function nextSteps(run: RecordedRun, here?: string): Next[] {
  const { status, state } = run
  const id = `${run.id}${cwdOption(state.cwd, here)}`
  const hasSteps = state.steps.length > 0
  const logs = `forkhestra logs ${id}`
  const work = hasSteps ? 'iteration' : 'running tasks'
  const stop: Next = [`forkhestra stop ${id}`, `finish the ${work}, then stop`]
  if (status === 'waiting' && hasSteps)
    return [[`forkhestra retry-now ${id}`, 'stop waiting and retry'], stop]
  if (status === 'running' || status === 'waiting')
    return [[`${logs} --follow`, 'what it prints'], stop]
  const notes = notesOn(state).map(({ next }) => next)
  if (!hasSteps || status === 'open' || status === 'unknown') return [[logs, 'what was printed']]
  if (status === 'complete') return [...notes, [logs, 'what was printed']]

  const step = currentStep(state)
  const place = step === undefined ? '' : ` --step ${step.number}`
  // A blocked agent has said itself what it needs.
  const isBlockedByAgent = step?.lastOutcome?.kind === 'blocked'
  const advice = step?.reason === undefined || isBlockedByAgent ? undefined : ADVICE[step.reason]
  const hasIteration = step !== undefined && step.iterations > 0 && step.running === undefined
  const iteration = `forkhestra show ${id}${place} --iteration ${step?.iterations}`
  return [
    ...(advice === undefined ? [] : [advice]),
    ...notes,
    ...resumeSteps(run, id, place.replace(' --', ' at ')),
    ...(hasIteration ? [[iteration, 'the last iteration'] as const] : []),
    [`${logs}${place}`, 'what was printed'],
  ]
}

/** How to resume a run; empty if its record does not contain enough. */
export function resumeSteps(run: RecordedRun, id: string, place = ''): Next[] {
  const { lacks } = run.state
  if (lacks !== undefined && lacks.prompt !== true) return []
  const prompt = lacks === undefined ? '' : ' --prompt TEXT'
  const again = lacks === undefined ? '' : `, with the same text: ${describeMissingSecrets(lacks)}`
  const step = currentStep(run.state)
  const budget = step === undefined ? '' : moreBudget(step)
  return [
    [
      `${resumeCommand(id, run.isChat)}${prompt}${budget}${orphansOption(run)}`,
      `resume${place}${again}`,
    ],
  ]
}
