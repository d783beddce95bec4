import type { StepNode } from '../chain/plan/plan.ts'
import type { EventBody } from '../records/events/event.ts'
import { stepAt, type RunState } from '../records/events/state.ts'
import type { StepState } from '../records/events/step-state.ts'
import type { Located } from '../records/events/tree.ts'

interface StepPlace {
  readonly scope: string[]
  readonly step: number
  readonly round?: number
}

/** Where an iteration is, for events. */
export interface Place extends StepPlace {
  readonly iteration: number
  readonly attempt: number
  /** The task of a sub-agent; absent for the agent of the step itself. */
  readonly task?: string
}

/** A step; undefined for tasks that the user queued before any step. */
type MaybeStep = Located | undefined

const FIRST_STEP = { id: 's1', number: 1 }

/** `round` counts all starts of the step, `earlier` of them in earlier rounds of its groups. */
export function placeOf(step: MaybeStep, round: number, earlier = 0): StepPlace {
  const { number, ...rest } = step ?? FIRST_STEP
  const place = { scope: [...scopeOf(rest, round - earlier)], step: number }
  return round > 1 ? { ...place, round } : place
}

/** Whether events need a scope to identify the step: it is in a group, or one of several copies. */
export function isScoped({ within = [], copy }: Pick<Located, 'within' | 'copy'>): boolean {
  return within.length > 0 || copy !== undefined
}

/** The scope of a step or group in one of its rounds. */
export function scopeOf(
  { id, within = [], copy }: Omit<Located, 'number'>,
  round: number,
): readonly string[] {
  return [
    ...within,
    id,
    ...(copy === undefined ? [] : [`c${copy}`]),
    ...(round > 1 ? [`r${round}`] : []),
  ]
}

/** The place of a step in its current round. */
export function currentPlace(step: MaybeStep, state: RunState): StepPlace {
  const { rounds, earlierRounds } = stepAt(state, step ?? FIRST_STEP)
  return placeOf(step, rounds, earlierRounds)
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
export function subAgentPlace(step: MaybeStep, state: RunState): Place {
  const { iterations, attempt } = stepAt(state, step ?? FIRST_STEP)
  const at = { iteration: Math.max(1, iterations), attempt: Math.max(1, attempt) }
  return { ...currentPlace(step, state), ...at }
}

/** An iteration that did not count or did not end is repeated under the same number. */
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
