import { unreachable } from '../base/errors.ts'
import type { Fact, Failure } from '../engines/engine.ts'
import type { EventOf } from '../events/event.ts'
import type { Outcome, Refusal } from '../events/schema.ts'
import type { Exit } from './child.ts'

type Usage = NonNullable<EventOf<'iteration_ended'>['usage']>

/** Makes one outcome of what an agent said and how it went; the same for every engine. */
export class Verdict {
  readonly #marker = Promise.withResolvers<void>()
  #hasMarker = false
  #refusal: Refusal | undefined
  #failure: Failure | undefined
  #resetsAt: number | undefined
  #usage: Usage | undefined

  /** Settles when the agent has said that it is done. */
  get marker(): Promise<void> {
    return this.#marker.promise
  }

  take(facts: readonly Fact[]): void {
    for (const fact of facts) this.#takeFact(fact)
  }

  #takeFact(fact: Fact): void {
    switch (fact.type) {
      case 'marker':
        this.#hasMarker = true
        return this.#marker.resolve()
      case 'marker_refused':
        // The most telling one is kept: mentions in prose are the normal case.
        if (this.#refusal === undefined || this.#refusal === 'longer_line') this.#refusal = fact.why
        return
      case 'failure':
        this.#failure = fact.failure
        return
      case 'limit':
        if (fact.status === 'rejected') this.#resetsAt = fact.resetsAt
        return
      case 'session':
        return this.#note({ session: fact.id, ...(fact.model ? { model: fact.model } : {}) })
      case 'usage': {
        const { type: _, ...usage } = fact
        return this.#note(usage)
      }
      case 'message':
      case 'tool':
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

  /** An accepted marker beats everything else. */
  outcome(exit: Exit | undefined): Outcome {
    return this.#hasMarker ? { kind: 'marker' } : this.unmarked(exit)
  }

  unmarked(exit: Exit | undefined): Outcome {
    if (exit === undefined) return { kind: 'interrupted' }
    return this.#failure === undefined ? exit : this.#failed(this.#failure, exit)
  }

  #failed({ kind, message: error }: Failure, exit: Exit): Outcome {
    switch (kind) {
      case 'error':
        return exit.kind === 'exited' ? { ...exit, error } : exit
      case 'rate_limited':
        return { kind, error, ...(this.#resetsAt ? { resetsAt: this.#resetsAt } : {}) }
      case 'max_turns':
      case 'auth_failed':
      case 'overloaded':
        return { kind, error }
    }
  }
}
