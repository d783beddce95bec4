import { UserError } from '../../base/errors.ts'
import { describeOutcome } from '../../records/events/describe-outcome.ts'
import { isFailure } from '../../records/events/step-state.ts'
import type { Outcome } from '../../records/events/schema.ts'
import type { TaskEnd, FailureClass, NotQueued } from '../../queue/task.ts'
import type { TurnResult } from '../agent/follow-agent.ts'
import type { FinalText } from '../agent/final-message.ts'
import { BudgetError } from '../policy/spending.ts'
import { isStoreFailure } from './store-failures.ts'

/** Why forkhestra ended a task's agent. */
export interface Stopped {
  readonly class: 'cancelled' | 'lost'
  readonly error: string
}

/**
 * How a task ends after its agent's turn. `stopped` is why the turn was interrupted; `whole` is the command
 * that shows output too long for a result.
 */
export function endOfTurn(
  { outcome, usage, finalMessage }: TurnResult,
  stopped: Stopped | undefined,
  whole: string,
): TaskEnd {
  const text = outputText(finalMessage, whole)
  const cost = usage?.costUsd === undefined ? {} : { cost: usage.costUsd }
  const isDone = outcome.kind === 'marker' || (outcome.kind === 'exited' && !isFailure(outcome))
  if (isDone) return { success: true, output: text.toWellFormed(), ...cost }
  const partial = text === '' ? {} : { partialOutput: text.toWellFormed() }
  const failed = { success: false as const, ...partial, ...cost }
  if (outcome.kind === 'interrupted' && stopped !== undefined) return { ...failed, ...stopped }
  const error =
    outcome.kind === 'spawn_failed' ? outcome.error : describeOutcome(outcome) || 'interrupted'
  return { ...failed, class: classOf(outcome), error }
}

function outputText({ text, cut }: FinalText, whole: string): string {
  if (cut === undefined) return text
  const note = `… (${cut} omitted; full text: ${whole})`
  return cut === 'beginning' ? `${note}\n${text}` : `${text}\n${note}`
}

/** The class of an error that prevents a task from starting; only a failing store is worth a retry. */
export function classOfError(error: Error): FailureClass {
  if (!(error instanceof UserError)) return 'fatal'
  if (error instanceof BudgetError) return 'budget'
  return isStoreFailure(error) ? 'transient' : 'precondition'
}

function classOf(outcome: Outcome): FailureClass {
  switch (outcome.kind) {
    case 'overloaded':
    case 'rate_limited':
      return 'transient'
    case 'timed_out':
    case 'idle':
      return 'timeout'
    case 'budget':
      return 'budget'
    case 'interrupted':
      return 'lost'
    default:
      return 'fatal'
  }
}

/** `report was not queued: A task named 'report' has not ended yet. Use …`. */
export function describeNotQueued({ name, error, hint = '' }: NotQueued): string {
  return `${name} was not queued: ${error} ${hint}`.trimEnd()
}

/** The event field, copied because events are mutable. */
export function notQueuedIn(end: Pick<TaskEnd, 'notQueued'> | null): { notQueued?: NotQueued[] } {
  return end?.notQueued === undefined ? {} : { notQueued: [...end.notQueued] }
}
