import { unreachable } from '../base/errors.ts'
import type { Fact } from '../engines/engine.ts'
import type { Outcome, Refusal } from '../events/schema.ts'
import type { Exit } from './child.ts'

/** Makes one outcome of what an agent said and how it went; the same for every engine. */
export class Verdict {
  readonly #marker = Promise.withResolvers<void>()
  #hasMarker = false
  #refusal: Refusal | undefined

  /** Settles when the agent has said that it is done. */
  get marker(): Promise<void> {
    return this.#marker.promise
  }

  take(facts: readonly Fact[]): void {
    for (const fact of facts) {
      switch (fact.type) {
        case 'marker':
          this.#hasMarker = true
          this.#marker.resolve()
          break
        case 'marker_refused':
          this.#refusal ??= fact.why
          break
        default:
          unreachable(fact)
      }
    }
  }

  /** What the person is told; that an agent also spoke of the marker it then gave is no news. */
  get refusal(): Refusal | undefined {
    return this.#hasMarker && this.#refusal === 'longer_line' ? undefined : this.#refusal
  }

  /** An accepted marker beats everything else. */
  outcome(exit: Exit | undefined): Outcome {
    if (this.#hasMarker) return { kind: 'marker' }
    return exit ?? { kind: 'interrupted' }
  }
}
