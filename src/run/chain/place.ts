import type { StepNode } from '../../chain/plan/plan.ts'
import { stepAt, type RunState } from '../../records/events/state.ts'

/** The place of a step in events. */
export interface StepPlace {
  readonly scope: string[]
  readonly step: number
  readonly round?: number
}

/** The place of an iteration in events. */
export interface Place extends StepPlace {
  readonly iteration: number
  readonly attempt: number
  /** The task of a sub-agent; absent for the agent of the step itself. */
  readonly task?: string
}

export function placeOf({ id, number }: Pick<StepNode, 'id' | 'number'>, round: number): StepPlace {
  const again = round > 1 ? { round } : {}
  return { scope: round > 1 ? [id, `r${round}`] : [id], step: number, ...again }
}

/** The place of an iteration in the current round of its step. */
export function iterationPlace(
  step: StepNode,
  state: RunState,
  iteration: number,
  attempt: number,
): Place {
  const place = placeOf(step, stepAt(state, step.number).rounds)
  return { ...place, scope: [...place.scope, `i${iteration}`], iteration, attempt }
}
