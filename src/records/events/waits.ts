import type { EventOf } from './event.ts'
import type { StepState } from './step-state.ts'
import { keyOfScope } from './tree.ts'

type Waiting = EventOf<'waiting'>

/** Branches and queued tasks wait independently of each other. */
export interface Waits {
  /** The wait that began first. */
  readonly waiting?: Waiting | undefined
  /** The others. */
  readonly alsoWaiting?: readonly Waiting[] | undefined
}

/** All waits that have not ended, in the order in which they began. */
export function waitsOf({ waiting, alsoWaiting = [] }: Waits): readonly Waiting[] {
  return waiting === undefined ? [] : [waiting, ...alsoWaiting]
}

export function addWait<State extends Waits>(state: State, event: Waiting): State {
  return withWaits(state, [...others(state, event), event])
}

export function endWait<State extends Waits>(
  state: State,
  event: Pick<Waiting, 'scope' | 'task'>,
): State {
  return withWaits(state, others(state, event))
}

function others(state: Waits, event: Pick<Waiting, 'scope' | 'task'>): Waiting[] {
  const isSame = ({ scope, task }: Waiting) =>
    task === event.task && keyOfScope(scope) === keyOfScope(event.scope)
  return waitsOf(state).filter((each) => !isSame(each))
}

function withWaits<State extends Waits>(state: State, [waiting, ...more]: Waiting[]): State {
  const { alsoWaiting: _, ...rest } = state
  return { ...(rest as State), waiting, ...(more.length === 0 ? {} : { alsoWaiting: more }) }
}

type Working = Waits & { readonly steps: readonly Pick<StepState, 'running'>[] }

/** Whether a run waits; it does not if only some of its branches do. */
export function isWaiting(run: Working): boolean {
  const waits = waitsOf(run)
  return waits.some(({ task }) => task !== undefined) || isOnlyWaiting(run)
}

/** Whether steps wait, and no agent runs. */
export function isOnlyWaiting(run: Working): boolean {
  const isAnyRunning = run.steps.some(({ running }) => running !== undefined)
  return !isAnyRunning && waitsOf(run).some(({ task }) => task === undefined)
}
