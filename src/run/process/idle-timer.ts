import { afterAwake, awakeMs } from '../../base/awake.ts'

/** Expires when an agent prints nothing for too long. Time in which we make it wait does not count. */
export class IdleTimer {
  readonly #limit: number | undefined
  readonly #expired = Promise.withResolvers<void>()
  /** Undefined if there is no limit. */
  readonly expired: Promise<void> | undefined
  #since = awakeMs()
  #taking = 0
  #unwatch: (() => void) | undefined

  constructor(limitMs: number | undefined) {
    this.#limit = limitMs
    if (limitMs === undefined) return
    this.expired = this.#expired.promise
    this.#watch(limitMs)
  }

  /** Handles a piece of output, and starts again. */
  resetFor(take: () => void | Promise<void>): void | Promise<void> {
    const taken = take()
    this.#since = awakeMs()
    if (taken === undefined) return
    this.#taking += 1
    return taken.finally(() => {
      this.#taking -= 1
      this.#since = awakeMs()
    })
  }

  end(): void {
    this.#unwatch?.()
  }

  // One timer that looks back instead of a new one for each piece of output.
  #watch(ms: number): void {
    this.#unwatch = afterAwake(ms, () => {
      const quiet = this.#taking > 0 ? 0 : awakeMs() - this.#since
      const rest = this.#limit! - quiet
      if (rest <= 0) this.#expired.resolve()
      else this.#watch(rest)
    })
  }
}
