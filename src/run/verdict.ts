import { unreachable } from '../base/errors.ts'
import type { Fact, Failure } from '../engines/engine.ts'
import type { Outcome, Refusal, Usage } from '../events/schema.ts'
import type { Exit } from './child.ts'
import type { Cut } from './process.ts'

/** Makes one outcome of what an agent said and how it went; the same for every engine. */
export class Verdict {
  readonly #marker = Promise.withResolvers<void>()
  readonly #blocked = Promise.withResolvers<void>()
  #hasMarker = false
  #block: string | undefined
  #lastWords: Failure | undefined
  #refusal: Refusal | undefined
  #failure: Failure | undefined
  /** What the last word about a limit was. */
  #isRejected = false
  #resetsAt: number | undefined
  #usage: Usage | undefined

  /** Settles when the agent has said that it is done. */
  get marker(): Promise<void> {
    return this.#marker.promise
  }

  /** Settles when the agent has said that it cannot go on. */
  get blocked(): Promise<void> {
    return this.#blocked.promise
  }

  take(facts: readonly Fact[]): void {
    for (const fact of facts) this.#takeFact(fact)
  }

  #takeFact(fact: Fact): void {
    switch (fact.type) {
      case 'marker':
        this.#hasMarker = true
        return this.#marker.resolve()
      case 'blocked':
        this.#block ??= fact.reason
        return this.#blocked.resolve()
      case 'last_words':
        // What is said on stdout comes first, and that is where the CLIs say it.
        this.#lastWords ??= fact.failure
        return
      case 'marker_refused':
        // The most telling one is kept: mentions in prose are the normal case.
        if (this.#refusal === undefined || this.#refusal === 'longer_line') this.#refusal = fact.why
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
    this.#usage = { ...this.#usage, ...usage }
  }

  /** What the person is told; that an agent also spoke of the marker it then gave is no news. */
  get refusal(): Refusal | undefined {
    return this.#hasMarker && this.#refusal === 'longer_line' ? undefined : this.#refusal
  }

  get usage(): Usage | undefined {
    return this.#usage
  }

  /** That it cannot go on beats a marker; an accepted marker beats everything else. */
  outcome(end: Exit | Cut | undefined): Outcome {
    if (this.#block !== undefined) return { kind: 'blocked', reason: this.#block }
    return this.#hasMarker ? { kind: 'marker' } : this.unmarked(end)
  }

  unmarked(end: Exit | Cut | undefined): Outcome {
    if (end === undefined) return { kind: 'interrupted' }
    if (end.kind !== 'exited' && end.kind !== 'signalled') return end
    const isFailed = end.kind === 'signalled' || end.code !== 0
    const lastWords = isFailed ? this.#lastWords : undefined
    // That it broke off is less telling than why.
    const isVague = this.#failure === undefined || this.#failure.kind === 'error'
    const failure = isVague ? (lastWords ?? this.#failure) : this.#failure
    if (this.#isRejected && (failure?.kind ?? 'error') === 'error' && (isFailed || failure)) {
      return this.#failed({ kind: 'rate_limited', message: failure?.message ?? 'refused' }, end)
    }
    return failure === undefined ? end : this.#failed(failure, end)
  }

  #failed({ kind, message: error, resetsAt = this.#resetsAt }: Failure, exit: Exit): Outcome {
    switch (kind) {
      case 'error':
        return exit.kind === 'exited' ? { ...exit, error } : exit
      case 'rate_limited':
        return { kind, error, ...(resetsAt === undefined ? {} : { resetsAt }) }
      case 'max_turns':
      case 'auth_failed':
      case 'overloaded':
      case 'budget':
        return { kind, error }
    }
  }
}
