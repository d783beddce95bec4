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
  /** The iteration that has begun and not ended. */
  readonly running?:
    | { readonly iteration: number; readonly attempt: number; readonly pid?: number | undefined }
    | undefined
  readonly lastOutcome?: Outcome
  /** Absent until it ended. */
  readonly reason?: Reason
  readonly detail?: string
  /** How many iterations ended with an error of the agent. */
  readonly failures?: number
}

/** What is known of a run from the events so far; its size depends on the chain, not on the run. */
export interface RunState {
  readonly steps: readonly StepState[]
  /** Folder of the record, where there is one. */
  readonly record?: string
  readonly ended?: {
    readonly ok: boolean
    readonly exitCode: number
    /** What stopped it before its end, in words. */
    readonly stopped: string | undefined
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
    case 'iteration_started': {
      const { iteration, attempt, pid } = event
      const running = { iteration, attempt, pid }
      return change(state, event.step, { iterations: iteration, running })
    }
    case 'iteration_ended':
      return change(state, event.step, { lastOutcome: event.outcome, running: undefined })
    case 'step_ended': {
      const { reason, detail, failures } = event
      const words = detail === undefined ? {} : { detail }
      return change(state, event.step, { reason, failures, ...words })
    }
    case 'run_ended': {
      const { ok, exitCode, stopped, leftovers } = event
      return { ...state, ended: { ok, exitCode, stopped: stopped?.words, leftovers } }
    }
    case 'record_lost': {
      const { record: _, ...rest } = state
      return rest
    }
    case 'step_started':
    case 'message':
    case 'tool':
    case 'limit':
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

const COMPLETE: readonly (Reason | undefined)[] = ['marker', 'until', 'single_run']

/** Whether a step that ended for this reason lets the chain go on. */
export function isComplete(reason: Reason | undefined): boolean {
  return COMPLETE.includes(reason)
}
