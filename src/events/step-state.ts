import type { End, NotQueued, Outcome, Reason, Spent } from './schema.ts'
import { NOTHING_SPENT } from './spent.ts'

/** What is known of a step from the events so far. */
export interface StepState {
  readonly number: number
  readonly agent: string
  readonly name?: string | undefined
  /** Absent where the agent runs once. */
  readonly maxIterations?: number | undefined
  readonly isRecovery?: boolean | undefined
  /** How often it was begun. */
  readonly rounds: number
  /** Whether it has begun and not ended. */
  readonly isOpen: boolean
  /** Whether what its prompt wants to happen before its agent has happened, in whatever round. */
  readonly isSetUp: boolean
  /** What its prompt wants to be queued after it, and was refused. */
  readonly notQueued?: readonly NotQueued[] | undefined
  /** Of this round, the running one included. */
  readonly iterations: number
  /** Of the last iteration. */
  readonly attempt: number
  /** Whether the last iteration does not count and comes again. */
  readonly isAgain: boolean
  /** The iteration that has begun and not ended. */
  readonly running?: { readonly iteration: number; readonly pid?: number | undefined } | undefined
  readonly lastOutcome?: Outcome
  /** Of the last iteration of this round that ended with an error of the agent. */
  readonly lastFailure?: Outcome | undefined
  /** What the last iteration means for the step, where it ends it. */
  readonly ends?: End | undefined
  /** Absent until it ended. */
  readonly reason?: Reason | undefined
  readonly detail?: string | undefined
  /** Whether it is a planner that gave no marker, and whose tasks are built all the same. */
  readonly isUnmarked?: boolean | undefined
  /** Whether it was skipped on a condition. */
  readonly isPassed: boolean
  /** Whether an iteration of this round created or changed tasks, where the agent is a planner. */
  readonly hasChangedTasks: boolean
  /** Tasks that were open at any time during the step, where its agent builds from tasks. */
  readonly openTasks?: readonly string[] | undefined
  /** Those of them that were deleted. */
  readonly deletedTasks?: readonly string[] | undefined
  /** How many iterations of this round ended with an error of the agent. */
  readonly failures: number
  /** Iterations without progress, and by what the next one is recognised as such. */
  readonly idle: number
  readonly fingerprint?: string | undefined
  /** What the next prompt says of a gate that refused. */
  readonly feedback?: string | undefined
  /** How often it has sent the run back to another step. */
  readonly jumps: number
  /** Ends from which something follows: of a step those that failed, of a recovery all of them. */
  readonly closings: number
  readonly spent: Spent
}

/** What is known before it begins. */
export const NEW_STEP = {
  rounds: 0,
  isOpen: false,
  isSetUp: false,
  iterations: 0,
  attempt: 0,
  isAgain: false,
  isPassed: false,
  hasChangedTasks: false,
  failures: 0,
  idle: 0,
  jumps: 0,
  closings: 0,
  spent: NOTHING_SPENT,
}

const COMPLETE: readonly (Reason | undefined)[] = ['marker', 'until', 'single_run']

/** Whether a step that ended for this reason lets the chain go on. */
export function isComplete(reason: Reason | undefined): boolean {
  return COMPLETE.includes(reason)
}

/** Whether the run need not do anything more for a step. */
export function isSettled({ reason, isPassed }: StepState): boolean {
  return isPassed || isComplete(reason)
}

/** Whether an iteration went wrong, and not only without an end of the work. */
export function isFailure(outcome: Outcome): boolean {
  switch (outcome.kind) {
    case 'exited':
      return outcome.code !== 0 || outcome.error !== undefined
    case 'marker':
    case 'blocked':
    case 'budget':
    case 'interrupted':
    case 'spawn_failed':
      return false
    default:
      return true
  }
}
