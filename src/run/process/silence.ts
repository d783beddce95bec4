import { afterAwake, awakeMs } from '../../base/awake.ts'

/** Detects silence beyond a limit. Time in which we make the agent wait does not count. */
export class Silence {
  readonly #limit: number | undefined
  readonly #tooLong = Promise.withResolvers<void>()
  /** Undefined if there is no limit. */
  readonly tooLong: Promise<void> | undefined
  #since = awakeMs()
  #taking = 0
  #unwatch: (() => void) | undefined

  constructor(limitMs: number | undefined) {
    this.#limit = limitMs
    if (limitMs === undefined) return
    this.tooLong = this.#tooLong.promise
    this.#watch(limitMs)
  }

  /** Handles a piece of output, which ends the silence. */
  breakFor(take: () => void | Promise<void>): void | Promise<void> {
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
      if (rest <= 0) this.#tooLong.resolve()
      else this.#watch(rest)
    })
  }
}
