import { UserError } from '../../base/errors.ts'
import { describeOutcome } from '../../records/events/describe-outcome.ts'
import { isFailure } from '../../records/events/step-state.ts'
import type { Outcome } from '../../records/events/schema.ts'
import { QueueError } from '../../queue/refusal.ts'
import type { End, FailureClass, NotQueued } from '../../queue/task.ts'
import type { TurnResult } from '../agent/follow-agent.ts'
import type { Words } from '../agent/last-words.ts'
import { BudgetError } from '../policy/spending.ts'
import { isStoreFailure } from './store-failures.ts'

/** Why forkhestra ended the agent of a task. */
export interface Stopped {
  readonly class: 'cancelled' | 'lost'
  readonly error: string
}

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
  const error =
    outcome.kind === 'spawn_failed' ? outcome.error : describeOutcome(outcome) || 'interrupted'
  return { ...failed, class: classOf(outcome), error }
}

function outputText({ text, cut }: Words, whole: string): string {
  if (cut === undefined) return text
  const note = `… (${cut} omitted; full text: ${whole})`
  return cut === 'beginning' ? `${note}\n${text}` : `${text}\n${note}`
}

/** The class of an error that keeps a task from starting; only a failing store is worth a retry. */
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

/** The size limit if this error is the store refusing a result as too big. */
export function resultLimit(error: unknown): number | undefined {
  if (!(error instanceof QueueError)) return undefined
  const { refusal } = error
  return refusal.kind === 'too_big' && refusal.what === 'result' ? refusal.limit : undefined
}

/**
 * Cuts the middle of an end to fit `room` bytes, because the beginning and the end of an output tend to
 * matter most. `whole` is the command that shows all of it.
 */
export function truncateEnd(end: End, room: number, whole: string): End {
  if (end.success) return { ...end, output: cutMiddle(end.output, room, whole) }
  const error = cutMiddle(end.error, Math.ceil(room / 2), whole)
  const rest = room - Buffer.byteLength(error)
  const { partialOutput: partial } = end
  return {
    ...end,
    error,
    ...(partial === undefined ? {} : { partialOutput: cutMiddle(partial, rest, whole) }),
  }
}

function cutMiddle(text: string, room: number, whole: string): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= room) return text
  const note = `\n… (middle omitted; full text: ${whole})\n`
  const half = Math.floor((room - Buffer.byteLength(note)) / 2)
  if (half <= 0) return wholeCharacters(bytes.subarray(0, room))
  return `${wholeCharacters(bytes.subarray(0, half))}${note}${wholeCharacters(bytes.subarray(-half))}`
}

/** Drops incomplete characters at both ends. */
function wholeCharacters(bytes: Buffer): string {
  const from = bytes.findIndex((byte) => (byte & 0xc0) !== 0x80)
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  // A stream keeps an incomplete character back.
  return decoder.decode(bytes.subarray(Math.max(0, from)), { stream: true })
}

/** `report was not queued: A task named 'report' is not over yet. Use …`. */
export function describeNotQueued({ name, error, hint = '' }: NotQueued): string {
  return `${name} was not queued: ${error} ${hint}`.trimEnd()
}

/** The event field, copied because events are mutable. */
export function notQueuedIn(end: Pick<End, 'notQueued'> | null): { notQueued?: NotQueued[] } {
  return end?.notQueued === undefined ? {} : { notQueued: [...end.notQueued] }
}
