import type { EndCause, End, NotQueued, Outcome, Reason, Spent } from './schema.ts'
import { NOTHING_SPENT } from './spent.ts'
import type { Location } from './tree.ts'

/** The state of one instance of a step after the events so far. */
export interface StepState extends Location {
  readonly number: number
  readonly agent: string
  readonly name?: string | undefined
  /** Absent if the agent runs once. */
  readonly maxIterations?: number | undefined
  readonly isRecovery?: boolean | undefined
  /** How many times it was started. */
  readonly rounds: number
  /** How many of these were in earlier rounds of the groups around it. */
  readonly earlierRounds?: number
  /** Whether it has started and not ended. */
  readonly isOpen: boolean
  /** Whether the setup phase of its prompt has been run, in any round. */
  readonly isSetUp: boolean
  /** Tasks of its teardown phase that were refused. */
  readonly notQueued?: readonly NotQueued[] | undefined
  /** Iterations of this round, including the running one. */
  readonly iterations: number
  readonly attempt: number
  /** Whether the last iteration does not count and is repeated. */
  readonly isAgain: boolean
  /** The iteration that has started and not ended. */
  readonly running?: { readonly iteration: number; readonly pid?: number | undefined } | undefined
  readonly lastOutcome?: Outcome
  /** Exit code of the last agent; absent if it did not exit on its own. */
  readonly lastExitCode?: number | undefined
  /** Outcome of the last iteration of this round that ended with an error of the agent. */
  readonly lastFailure?: Outcome | undefined
  /** How the last iteration ends the step, if it does. */
  readonly ends?: End | undefined
  /** Absent until the step has ended. */
  readonly reason?: Reason | undefined
  readonly detail?: string | undefined
  readonly cause?: EndCause | undefined
  /** Whether it is a planner without a marker whose tasks are built anyway. */
  readonly isUnmarked?: boolean | undefined
  /** Whether it was skipped by a condition. */
  readonly isPassed: boolean
  /** Whether a planner created or changed tasks in this round. */
  readonly hasChangedTasks: boolean
  /** All tasks that were open during the step, if its agent builds from tasks. */
  readonly openTasks?: readonly string[] | undefined
  readonly deletedTasks?: readonly string[] | undefined
  /** The blocked tasks, if they are why it is blocked. */
  readonly blockedTasks?: readonly string[] | undefined
  /** How many iterations of this round ended with an error of the agent. */
  readonly failures: number
  /** Iterations without progress, and the fingerprint by which progress is detected. */
  readonly idle: number
  readonly fingerprint?: string | undefined
  /** What the next prompt says about a failed gate. */
  readonly feedback?: string | undefined
  /** Whether the work of its branch has to be merged before it continues. */
  readonly handsIn?: boolean | undefined
  /** Whether its next iteration waits until a task is ready. */
  readonly awaitsTask?: boolean | undefined
  /** How many times it has sent the run back to another step. */
  readonly jumps: number
  /** How many of its ends have to be handled: failed ends of a step, all ends of a recovery. */
  readonly closings: number
  readonly spent: Spent
}

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

/** Whether the chain continues after a step that ended for this reason. */
export function isComplete(reason: Reason | undefined): boolean {
  return COMPLETE.includes(reason)
}

/** Whether a step or group needs no further work. */
export function isSettled({ reason, isPassed }: Pick<StepState, 'reason' | 'isPassed'>): boolean {
  return isPassed || isComplete(reason)
}

/** Whether an iteration failed, instead of only not completing the work. */
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
