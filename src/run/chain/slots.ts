/** Limits how many agents of a run work at the same time; first come, first served. */
export class Slots {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(count: number) {
    this.#free = count
  }

  get areTaken(): boolean {
    return this.#free === 0
  }

  /** Waits for a free slot; the returned function gives it back. Undefined if `stop` aborts first. */
  async take(stop: AbortSignal): Promise<(() => void) | undefined> {
    if (stop.aborted) return undefined
    if (this.#free > 0) this.#free -= 1
    else if (!(await this.#wait(stop))) return undefined
    let isTaken = true
    return () => {
      if (isTaken) this.#pass()
      isTaken = false
    }
  }

  /** Whether a slot was handed over before `stop` aborted. */
  async #wait(stop: AbortSignal): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const take = () => resolve(true)
    const leave = () => {
      const at = this.#waiting.indexOf(take)
      if (at === -1) return
      this.#waiting.splice(at, 1)
      resolve(false)
    }
    this.#waiting.push(take)
    stop.addEventListener('abort', leave)
    return promise.finally(() => stop.removeEventListener('abort', leave))
  }

  #pass(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free += 1
    else next()
  }
}
