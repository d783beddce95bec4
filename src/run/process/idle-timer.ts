import { afterAwake, awakeMs } from '../../base/awake.ts'

/** Expires when an agent prints nothing for too long. Time during which we make it wait does not count. */
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

  /** Handles a chunk of output, and restarts the timer. */
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

  // One timer that checks the last activity, instead of a new timer for each chunk.
  #watch(ms: number): void {
    this.#unwatch = afterAwake(ms, () => {
      const quiet = this.#taking > 0 ? 0 : awakeMs() - this.#since
      const rest = this.#limit! - quiet
      if (rest <= 0) this.#expired.resolve()
      else this.#watch(rest)
    })
  }
}
