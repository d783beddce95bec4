import type { EventBody } from './event.ts'
import type { Leftover, Outcome, Reason } from './schema.ts'
import { unreachable } from '../base/errors.ts'

/** What is known of a step from the events so far. */
export interface StepState {
  readonly number: number
  readonly agent: string
  /** Absent where the agent runs once. */
  readonly maxIterations?: number | undefined
  readonly iterations: number
  readonly lastOutcome?: Outcome
  /** Absent until it ended. */
  readonly reason?: Reason
  readonly detail?: string
}

/** What is known of a run from the events so far; its size depends on the chain, not on the run. */
export interface RunState {
  readonly steps: readonly StepState[]
  /** Folder of the record, where there is one. */
  readonly record?: string
  readonly ended?: {
    readonly ok: boolean
    readonly exitCode: number
    readonly leftovers: readonly Leftover[]
  }
}

export const NO_EVENTS: RunState = { steps: [] }

/** The state after one more event. */
export function next(state: RunState, event: EventBody): RunState {
  switch (event.type) {
    case 'run_started': {
      const steps = event.steps.map(({ step: number, ...rest }) => ({
        number,
        ...rest,
        iterations: 0,
      }))
      return { ...state, steps, ...(event.record === undefined ? {} : { record: event.record }) }
    }
    case 'iteration_started':
      return change(state, event.step, { iterations: event.iteration })
    case 'iteration_ended':
      return change(state, event.step, { lastOutcome: event.outcome })
    case 'step_ended': {
      const { reason, detail } = event
      return change(state, event.step, { reason, ...(detail === undefined ? {} : { detail }) })
    }
    case 'run_ended': {
      const { ok, exitCode, leftovers } = event
      return { ...state, ended: { ok, exitCode, leftovers } }
    }
    case 'step_started':
    case 'dry_run':
    case 'run_refused':
    case 'marker_refused':
    case 'output':
    case 'warning':
      return state
    default:
      return unreachable(event)
  }
}

function change(state: RunState, number: number, fields: Partial<StepState>): RunState {
  const steps = state.steps.map((step) => (step.number === number ? { ...step, ...fields } : step))
  return { ...state, steps }
}

const COMPLETE: readonly (Reason | undefined)[] = ['marker', 'single_run']

/** Whether a step that ended for this reason lets the chain go on. */
export function isComplete(reason: Reason | undefined): boolean {
  return COMPLETE.includes(reason)
}
