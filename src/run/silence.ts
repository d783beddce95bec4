/** Notices when nothing has been said for too long. While we ourselves make a speaker wait, nothing is. */
export class Silence {
  readonly #limit: number | undefined
  readonly #tooLong = Promise.withResolvers<void>()
  #since = performance.now()
  #taking = 0
  #timer: Timer | undefined

  constructor(limitMs: number | undefined) {
    this.#limit = limitMs
    if (limitMs !== undefined) this.#watch(limitMs)
  }

  /** Never settles where there is no limit. */
  get tooLong(): Promise<void> | undefined {
    return this.#limit === undefined ? undefined : this.#tooLong.promise
  }

  /** Something was said, and is taken as fast as it can be. */
  breakFor(take: () => void | Promise<void>): void | Promise<void> {
    const taken = take()
    this.#since = performance.now()
    if (taken === undefined) return
    this.#taking += 1
    return taken.finally(() => {
      this.#taking -= 1
      this.#since = performance.now()
    })
  }

  end(): void {
    clearTimeout(this.#timer)
  }

  // One timer that looks back, and not a new one for each piece of output.
  #watch(ms: number): void {
    this.#timer = setTimeout(
      () => {
        const quiet = this.#taking > 0 ? 0 : performance.now() - this.#since
        const rest = this.#limit! - quiet
        if (rest <= 0) this.#tooLong.resolve()
        else this.#watch(rest)
      },
      Math.min(ms, 2 ** 31 - 1),
    )
  }
}
