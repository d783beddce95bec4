import { UserError } from '../base/errors.ts'
import { outcomeWords } from '../events/outcome-words.ts'
import { isFailure } from '../events/step-state.ts'
import type { Outcome } from '../events/schema.ts'
import { QueueError } from '../queue/refusal.ts'
import type { End, FailureClass } from '../queue/task.ts'
import type { Turned } from './follow-agent.ts'
import type { Words } from './last-words.ts'
import { BudgetError } from './spending.ts'

/**
 * What the turn of a sub-agent means for its task. `stopped` says why it was broken off, `whole` how
 * to see what does not fit into a result.
 */
export function endOfTurn(
  { outcome, usage, said }: Turned,
  stopped: Stopped | undefined,
  whole: string,
): End {
  const text = wordsOf(said, whole)
  const cost = usage?.costUsd === undefined ? {} : { cost: usage.costUsd }
  const isDone = outcome.kind === 'marker' || (outcome.kind === 'exited' && !isFailure(outcome))
  if (isDone) return { success: true, output: text.toWellFormed(), ...cost }
  const partial = text === '' ? {} : { partialOutput: text.toWellFormed() }
  const failed = { success: false as const, ...partial, ...cost }
  if (outcome.kind === 'interrupted' && stopped !== undefined) return { ...failed, ...stopped }
  return { ...failed, class: classOf(outcome), error: errorOf(outcome) }
}

function wordsOf({ text, cut }: Words, whole: string): string {
  if (cut === undefined) return text
  const note = `… (the ${cut} is cut; the whole: ${whole})`
  return cut === 'beginning' ? `${note}\n${text}` : `${text}\n${note}`
}

/** Why an agent was ended by us. */
export interface Stopped {
  readonly class: 'cancelled' | 'lost'
  readonly error: string
}

/** What keeps a task from beginning: only a store that could not be asked may be better next time. */
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
  return outcomeWords(outcome) || 'interrupted'
}
