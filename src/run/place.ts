import type { StepNode } from '../plan/plan.ts'
import { stepAt, type RunState } from '../events/state.ts'

/** Where in the run a step is. */
export interface StepPlace {
  readonly scope: string[]
  readonly step: number
  readonly round?: number
}

/** Where in the run an iteration is. */
export interface Place extends StepPlace {
  readonly iteration: number
  readonly attempt: number
  /** The sub-agent at work; absent: the agent of the step itself. */
  readonly task?: string
}

/** The place of a step in a round of it. */
export function placeOf({ id, number }: Pick<StepNode, 'id' | 'number'>, round: number): StepPlace {
  const again = round > 1 ? { round } : {}
  return { scope: round > 1 ? [id, `r${round}`] : [id], step: number, ...again }
}

/** The place of an iteration in the round that has begun. */
export function iterationPlace(
  step: StepNode,
  state: RunState,
  iteration: number,
  attempt: number,
): Place {
  const place = placeOf(step, stepAt(state, step.number).rounds)
  return { ...place, scope: [...place.scope, `i${iteration}`], iteration, attempt }
}
