import type { EventOf } from '../events/event.ts'
import type { Refusal } from '../events/schema.ts'
import { outcomeWords } from '../events/outcome-words.ts'
import { isComplete, type StepState } from '../events/state.ts'

export const REFUSALS: Record<Refusal, string> = {
  code_fence: 'inside a code fence',
  longer_line: 'inside a longer line',
  quotes: 'in quotes',
  letter_case: 'in another case',
  stderr: 'on stderr',
  tasks_ready: 'tasks are ready',
}

/** `step`, `agent default, file prompts/x.md`, `none`. */
export function sourceWords(source: EventOf<'iteration_started'>['prompt']): string {
  if (source === undefined) return 'none'
  return source.file === undefined ? source.level : `${source.level}, file ${source.file}`
}

export function iterations(count: number): string {
  return `${count} ${count === 1 ? 'iteration' : 'iterations'}`
}

/** `complete (2/3 iterations, marker)`, `incomplete (exit 3)`, `skipped`. */
export function stepWords(step: StepState): string {
  if (step.reason === undefined || step.reason === 'skipped') return 'skipped'
  const state = isComplete(step.reason) ? 'complete' : 'incomplete'
  if (step.reason === 'single_run') return `${state} (exit 0)`
  if (step.maxIterations === undefined) return `${state} (${failureWords(step)})`
  const why = step.reason === 'marker' ? 'marker' : (step.detail ?? 'max iterations reached')
  return `${state} (${step.iterations}/${iterations(step.maxIterations)}, ${why})`
}

/** The words in the parentheses of `Failed at step 2: builder (…)`. */
export function failureWords(step: StepState): string {
  if (step.reason === 'max_iterations') {
    return `max iterations reached, ${step.iterations}/${step.maxIterations}`
  }
  return step.detail ?? step.reason ?? ''
}

/** Tells a loop in which the agent itself fails from one that is not done yet. */
export function failingWords({ failures, iterations: count, lastOutcome }: StepState): string {
  const last =
    lastOutcome === undefined ? '' : `; the last ended with: ${outcomeWords(lastOutcome)}`
  return `In ${failures} of ${iterations(count)} the agent failed${last}`
}

/** `Limit of the plan (five_hour): rejected, resets at 2026-01-20T10:00:00.000Z`. */
export function limitWords({ status, kind, resetsAt, utilization }: EventOf<'limit'>): string {
  const which = kind === undefined ? '' : ` (${kind})`
  const used = utilization === undefined ? '' : `, ${Math.round(utilization * 100)} % used`
  const when =
    resetsAt === undefined ? '' : `, resets at ${new Date(resetsAt * 1000).toISOString()}`
  return `Limit of the plan${which}: ${status}${used}${when}`
}
