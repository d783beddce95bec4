import type { Refusal } from '../events/schema.ts'
import { isComplete, type StepState } from '../events/state.ts'

export const REFUSALS: Record<Refusal, string> = {
  code_fence: 'inside a code fence',
  longer_line: 'inside a longer line',
  quotes: 'in quotes',
  letter_case: 'in another case',
  stderr: 'on stderr',
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
