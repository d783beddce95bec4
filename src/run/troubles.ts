import type { UserError } from '../base/errors.ts'
import { isPassing, PATIENCE_WORDS } from './store-trouble.ts'

/** What is done by the way, by its name; or work whose result waits, itself. */
type Who = string | object

/**
 * What is wrong with a store, and who has met it: each trouble is said once, and once when none of
 * them meets it any more.
 */
export class Troubles {
  readonly #warn: (text: string) => void
  readonly #met = new Map<string, Set<Who>>()

  constructor(warn: (text: string) => void) {
    this.#warn = warn
  }

  /** `who` tries the same again later. */
  failed(who: Who, error: UserError): void {
    const { message, hint = '' } = error
    const met = this.#met.get(message)
    if (met !== undefined) return void met.add(who)
    this.#met.set(message, new Set([who]))
    this.#warn([message, hint, isPassing(error) ? PATIENCE_WORDS : ''].join(' ').trimEnd())
  }

  worked(who: Who): void {
    this.#leave(who, (message) =>
      this.#warn(`The queue store can be used again. Over is: ${message}`),
    )
  }

  /** It does not try again. */
  gaveUp(who: Who): void {
    this.#leave(who, () => undefined)
  }

  #leave(who: Who, isOver: (message: string) => void): void {
    for (const [message, met] of this.#met) {
      if (!met.delete(who)) continue
      // What was written for somebody who waited proves it also for what comes by the way, and late.
      if ([...met].some((each) => typeof who === 'string' || typeof each !== 'string')) continue
      this.#met.delete(message)
      isOver(message)
    }
  }
}
