import type { Reason } from '../events/schema.ts'
import { currentStep, type RecordedRun } from './runs.ts'
import { notesOn } from './notes.ts'
import { cwdOption, lacksWords, moreBudget } from './words.ts'

/** What helps beside going on, by why the step ended. */
const ADVICE: Partial<Record<Reason, readonly [string, string]>> = {
  auth: ['forkhestra doctor', 'what is missing'],
  error: ['forkhestra doctor', 'what is missing'],
  blocked: ['forge-tasks list --ready --explain', 'what each task waits for'],
}

/** Commands that may come next for a run, and what each is for. */
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
  // What an agent needs, it has said itself.
  const isToldByAgent = step?.lastOutcome?.kind === 'blocked'
  const advice = step?.reason === undefined || isToldByAgent ? undefined : ADVICE[step.reason]
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
      return [[`forkhestra retry-now ${id}`, 'do not wait any longer'], stop]
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

/** How to resume a run; nothing where its record does not hold enough. */
export function resumeSteps(
  { state }: RecordedRun,
  id: string,
  place = '',
  step = currentStep(state),
): (readonly [string, string])[] {
  const { lacks } = state
  if (lacks !== undefined && lacks.prompt !== true) return []
  const prompt = lacks === undefined ? '' : ' --prompt TEXT'
  const again = lacks === undefined ? '' : `, with the same text: ${lacksWords(lacks)}`
  const budget = step === undefined ? '' : moreBudget(step)
  return [[`forkhestra resume ${id}${prompt}${budget}`, `go on${place}${again}`]]
}

/** Of a run without steps; what is queued or unread comes with its tasks. */
function nextForQueue(
  { id: run, status, state }: RecordedRun,
  here?: string,
): (readonly [string, string])[] {
  const id = `${run}${cwdOption(state.cwd, here)}`
  const isDriven = status === 'running' || status === 'waiting'
  if (!isDriven) return [[`forkhestra logs ${id}`, 'what was printed']]
  return [
    [`forkhestra logs ${id} --follow`, 'what it prints'],
    [`forkhestra stop ${id}`, 'finish what is at work, then stop'],
  ]
}
