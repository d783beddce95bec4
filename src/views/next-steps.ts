import type { Reason } from '../records/events/schema.ts'
import { currentStep, orphansOption, type RecordedRun } from './runs.ts'
import { notesOn } from './notes.ts'
import { cwdOption, describeMissingSecrets, moreBudget } from './describe.ts'

/** Helpful commands besides a resume, by the reason that ended the step. */
const ADVICE: Partial<Record<Reason, readonly [string, string]>> = {
  auth: ['forkhestra doctor', 'what is missing'],
  error: ['forkhestra doctor', 'what is missing'],
  blocked: ['forge-tasks list --ready --explain', 'what each task waits for'],
}

/** Commands that may be useful next, and what each is for. */
export function nextSteps(run: RecordedRun, here?: string): (readonly [string, string])[] {
  const { status, state } = run
  const id = `${run.id}${cwdOption(state.cwd, here)}`
  if (state.steps.length === 0) return nextForQueue(run, here)
  const step = currentStep(state)
  const place = step === undefined ? '' : ` --step ${step.number}`
  const iteration =
    step === undefined || step.iterations === 0 || step.running !== undefined
      ? ''
      : ` --iteration ${step.iterations}`
  // A blocked agent has said itself what it needs.
  const isBlockedByAgent = step?.lastOutcome?.kind === 'blocked'
  const advice = step?.reason === undefined || isBlockedByAgent ? undefined : ADVICE[step.reason]
  const look: (readonly [string, string])[] = [
    ...(iteration === ''
      ? []
      : [[`forkhestra show ${id}${place}${iteration}`, 'the last iteration'] as const]),
    [`forkhestra logs ${id}${place}`, 'what was printed'],
  ]
  const stop = [`forkhestra stop ${id}`, 'finish the iteration, then stop'] as const
  switch (status) {
    case 'complete':
      return [...notedNexts(run), [`forkhestra logs ${id}`, 'what was printed']]
    case 'open':
    case 'unknown':
      return [[`forkhestra logs ${id}`, 'what was printed']]
    case 'running':
      return [[`forkhestra logs ${id} --follow`, 'what it prints'], stop]
    case 'waiting':
      return [[`forkhestra retry-now ${id}`, 'stop waiting and retry'], stop]
    case 'failed':
    case 'stopped':
    case 'dead':
      return [
        ...(advice === undefined ? [] : [advice]),
        ...notedNexts(run),
        ...resumeSteps(run, id, place.replace(' --', ' at '), step),
        ...look,
      ]
  }
}

function notedNexts({ state }: RecordedRun): (readonly [string, string])[] {
  return notesOn(state).map(({ next }) => next)
}

/** How to resume a run; empty if its record does not contain enough. */
export function resumeSteps(
  run: RecordedRun,
  id: string,
  place = '',
  step = currentStep(run.state),
): (readonly [string, string])[] {
  const { lacks } = run.state
  if (lacks !== undefined && lacks.prompt !== true) return []
  const prompt = lacks === undefined ? '' : ' --prompt TEXT'
  const again = lacks === undefined ? '' : `, with the same text: ${describeMissingSecrets(lacks)}`
  const budget = step === undefined ? '' : moreBudget(step)
  return [
    [`forkhestra resume ${id}${prompt}${budget}${orphansOption(run)}`, `resume${place}${again}`],
  ]
}

/** For a run without steps; `nextForTasks` adds the commands for its tasks. */
function nextForQueue(
  { id: run, status, state }: RecordedRun,
  here?: string,
): (readonly [string, string])[] {
  const id = `${run}${cwdOption(state.cwd, here)}`
  const isDriven = status === 'running' || status === 'waiting'
  if (!isDriven) return [[`forkhestra logs ${id}`, 'what was printed']]
  return [
    [`forkhestra logs ${id} --follow`, 'what it prints'],
    [`forkhestra stop ${id}`, 'finish the running tasks, then stop'],
  ]
}
