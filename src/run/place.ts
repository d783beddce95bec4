import type { StepNode } from '../chain/plan/plan.ts'
import type { EventBody } from '../records/events/event.ts'
import { stepAt, type RunState } from '../records/events/state.ts'
import type { StepState } from '../records/events/step-state.ts'

/** The place of a step in events. */
interface StepPlace {
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

/** A step, or undefined for tasks that a person queued before any step. */
type Located = Pick<StepNode, 'id' | 'number'> | undefined

export function placeOf(step: Located, round: number): StepPlace {
  const { id = 's1', number = 1 } = step ?? {}
  return round > 1
    ? { scope: [id, `r${round}`], step: number, round }
    : { scope: [id], step: number }
}

/** The place of a step in its current round. */
export function currentPlace(step: Located, state: RunState): StepPlace {
  return placeOf(step, stepAt(state, step?.number ?? 1).rounds)
}

/** The place of an iteration in the current round of its step. */
export function iterationPlace(
  step: StepNode,
  state: RunState,
  { iteration, attempt }: Pick<Place, 'iteration' | 'attempt'>,
): Place {
  const place = currentPlace(step, state)
  return { ...place, scope: [...place.scope, `i${iteration}`], iteration, attempt }
}

/** The place of sub-agents that belong to the current iteration of a step. */
export function subAgentPlace(step: Located, state: RunState): Place {
  const { iterations, attempt } = stepAt(state, step?.number ?? 1)
  const at = { iteration: Math.max(1, iterations), attempt: Math.max(1, attempt) }
  return { ...currentPlace(step, state), ...at }
}

/** An iteration that did not count, or did not end, is repeated under its number. */
export function nextIteration({ isAgain, running, iterations, attempt }: StepState) {
  return isAgain || running !== undefined
    ? { iteration: iterations, attempt: attempt + 1 }
    : { iteration: iterations + 1, attempt: 1 }
}

/** Emits warnings that name the task of a sub-agent. */
export function warnerFor(
  { task }: Place,
  { emit }: { readonly emit: (event: EventBody) => unknown },
): (text: string) => void {
  const whose = task === undefined ? '' : `task ${task}: `
  return (text) => void emit({ type: 'warning', text: `${whose}${text}` })
}
