import { UserError } from '../../base/errors.ts'
import { describeOutcome } from '../../records/events/describe-outcome.ts'
import { isFailure } from '../../records/events/step-state.ts'
import type { Outcome } from '../../records/events/schema.ts'
import { QueueError } from '../../queue/refusal.ts'
import type { End, FailureClass } from '../../queue/task.ts'
import type { TurnResult } from '../agent/follow-agent.ts'
import type { Words } from '../agent/last-words.ts'
import { BudgetError } from '../chain/spending.ts'

/**
 * The end of a task after the turn of its agent. `stopped` says why the turn was cut short, `whole` is
 * the command that shows output that does not fit into a result.
 */
export function endOfTurn(
  { outcome, usage, lastWords }: TurnResult,
  stopped: Stopped | undefined,
  whole: string,
): End {
  const text = outputText(lastWords, whole)
  const cost = usage?.costUsd === undefined ? {} : { cost: usage.costUsd }
  const isDone = outcome.kind === 'marker' || (outcome.kind === 'exited' && !isFailure(outcome))
  if (isDone) return { success: true, output: text.toWellFormed(), ...cost }
  const partial = text === '' ? {} : { partialOutput: text.toWellFormed() }
  const failed = { success: false as const, ...partial, ...cost }
  if (outcome.kind === 'interrupted' && stopped !== undefined) return { ...failed, ...stopped }
  return { ...failed, class: classOf(outcome), error: errorOf(outcome) }
}

function outputText({ text, cut }: Words, whole: string): string {
  if (cut === undefined) return text
  const note = `… (${cut} omitted; full text: ${whole})`
  return cut === 'beginning' ? `${note}\n${text}` : `${text}\n${note}`
}

/** Why forkhestra ended the agent. */
export interface Stopped {
  readonly class: 'cancelled' | 'lost'
  readonly error: string
}

/** The class of an error that keeps a task from starting; only a failing store is worth a retry. */
export function classOfError(error: Error): FailureClass {
  if (!(error instanceof UserError)) return 'fatal'
  if (error instanceof BudgetError) return 'budget'
  return error instanceof QueueError && 'place' in error.refusal ? 'transient' : 'precondition'
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

function errorOf(outcome: Outcome): string {
  if (outcome.kind === 'spawn_failed') return outcome.error
  return describeOutcome(outcome) || 'interrupted'
}
