import { unreachable } from '../../base/errors.ts'
import type { Fact, Failure } from '../../engines/engine.ts'
import type { Outcome, Refusal, Usage } from '../../records/events/schema.ts'
import type { Exit } from '../process/child.ts'
import type { Cut } from '../process/process.ts'

/** Turns the facts and the exit of an agent into one outcome, for every engine. */
export class Verdict {
  readonly #marker = Promise.withResolvers<void>()
  readonly #blocked = Promise.withResolvers<void>()
  /** Settles when the agent prints its marker. */
  readonly marker = this.#marker.promise
  /** Settles when the agent reports that it is blocked. */
  readonly blocked = this.#blocked.promise
  usage: Usage | undefined
  #hasMarker = false
  #block: string | undefined
  /** Printed inside a code fence that was never closed: they count only after a normal end. */
  #fenced: { marker?: true; block?: string } = {}
  #printedFailure: Failure | undefined
  #refusal: Refusal | undefined
  #failure: Failure | undefined
  /** Whether the latest report about a limit was a rejection. */
  #isRejected = false
  #resetsAt: number | undefined

  take(facts: readonly Fact[]): void {
    for (const fact of facts) this.#takeFact(fact)
  }

  #takeFact(fact: Fact): void {
    switch (fact.type) {
      case 'marker':
        if (fact.isInOpenFence === true) return void (this.#fenced.marker = true)
        this.#hasMarker = true
        return this.#marker.resolve()
      case 'blocked':
        if (fact.isInOpenFence === true) return void (this.#fenced.block ??= fact.reason)
        this.#block ??= fact.reason
        return this.#blocked.resolve()
      case 'printed_failure':
        // The first one wins: stdout is decoded first, and CLIs print it there.
        this.#printedFailure ??= fact.failure
        return
      case 'marker_refused':
        // Any other refusal replaces a mention in prose.
        if (this.#isMinor) this.#refusal = fact.why
        return
      case 'failure':
        this.#failure = fact.failure
        return
      case 'limit':
        this.#isRejected = fact.status === 'rejected'
        if (this.#isRejected) this.#resetsAt = fact.resetsAt
        return
      case 'session': {
        const { type: _, id: session, ...about } = fact
        return this.#note({ session, ...about })
      }
      case 'usage': {
        const { type: _, ...usage } = fact
        return this.#note(usage)
      }
      case 'message':
      case 'delta':
      case 'tool':
      case 'tool_ended':
      case 'notice':
        return
      default:
        unreachable(fact)
    }
  }

  #note(usage: Usage): void {
    this.usage = { ...this.usage, ...usage }
  }

  /** Leaves out a mention in prose if the agent also printed the marker. */
  refusal(end: Exit | Cut | undefined): Refusal | undefined {
    const hasMarker = this.outcome(end).kind === 'marker'
    const isCutOff = this.#fenced.marker === true && !hasMarker
    const refusal = isCutOff && this.#isMinor ? 'code_fence' : this.#refusal
    return hasMarker && refusal === 'longer_line' ? undefined : refusal
  }

  /** Mentions in prose are the normal case. */
  get #isMinor(): boolean {
    return this.#refusal === undefined || this.#refusal === 'longer_line'
  }

  /** `blocked` beats a marker; a marker beats everything else. */
  outcome(end: Exit | Cut | undefined): Outcome {
    const unmarked = this.unmarked(end)
    const isNormal =
      unmarked.kind === 'exited' && unmarked.code === 0 && unmarked.error === undefined
    const fenced = isNormal ? this.#fenced : {}
    const reason = this.#block ?? fenced.block
    if (reason !== undefined) return { kind: 'blocked', reason }
    return this.#hasMarker || fenced.marker === true ? { kind: 'marker' } : unmarked
  }

  unmarked(end: Exit | Cut | undefined): Outcome {
    if (end === undefined) return { kind: 'interrupted' }
    if (end.kind !== 'exited' && end.kind !== 'signalled') return end
    const isFailed = end.kind === 'signalled' || end.code !== 0
    const printed = isFailed ? this.#printedFailure : undefined
    // A known cause says more than a plain error.
    const isVague = this.#failure === undefined || this.#failure.kind === 'error'
    const failure = isVague ? (printed ?? this.#failure) : this.#failure
    if (this.#isRejected && (failure?.kind ?? 'error') === 'error' && (isFailed || failure)) {
      return this.#failed({ kind: 'rate_limited', message: failure?.message ?? 'refused' }, end)
    }
    return failure === undefined ? end : this.#failed(failure, end)
  }

  #failed(failure: Failure, exit: Exit): Outcome {
    const { kind, message: error, cause, resetsAt = this.#resetsAt, limit = 'cost' } = failure
    switch (kind) {
      case 'error':
        if (exit.kind !== 'exited') return exit
        return { ...exit, error, ...(cause === 'context_full' ? { cause } : {}) }
      case 'rate_limited':
        return { kind, error, ...(resetsAt === undefined ? {} : { resetsAt }) }
      case 'auth_failed':
        return { kind, error, ...(cause === 'unknown_model' ? { cause } : {}) }
      case 'max_turns':
      case 'overloaded':
        return { kind, error }
      case 'budget':
        return { kind, error, limit }
    }
  }
}
