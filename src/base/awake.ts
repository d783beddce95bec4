/** Nothing longer fits into a timer. */
const LONGEST_MS = 2 ** 31 - 1
/** How often the clock is looked at. */
const TICK_MS = 500
/** A longer time between two looks means that this process did not run. */
const GAP_MS = 1500
/** Clocks that differ by less are the same. */
const TOLERANCE_MS = 1000
/** After a gap, what arrived in the meantime is read before a time limit is over. */
const READ_MS = 50
/** So much too early a timer may go off. */
const EARLY_MS = 2

/** The two clocks of a machine: the one that people set, and the one that only counts. */
export const CLOCKS = { time: () => Date.now(), passed: () => performance.now() }

/**
 * Counts the time in which this process ran. The system's own clock goes on while a process is
 * stopped; whether it does so while the machine sleeps depends on the system.
 */
export class AwakeClock {
  readonly #clocks: typeof CLOCKS
  readonly #began: number
  #looked: number
  #ms = 0
  #skipped = 0

  constructor(clocks = CLOCKS) {
    this.#clocks = clocks
    this.#began = clocks.time()
    this.#looked = clocks.passed()
  }

  /** To be called at least every `TICK_MS`. */
  ms(): number {
    const now = this.#clocks.passed()
    const step = now - this.#looked
    this.#looked = now
    if (step < GAP_MS) this.#ms += step
    return this.#ms
  }

  /** How far the time of day is ahead of the time in which the process ran; behind: negative. */
  skippedMs(): number {
    const skipped = Math.round(this.#clocks.time() - this.#began - this.ms())
    if (Math.abs(skipped - this.#skipped) >= TOLERANCE_MS) this.#skipped = skipped
    return this.#skipped
  }
}

let clock: AwakeClock | undefined

/** From the first question on, and without keeping the process alive. */
function ticking(): AwakeClock {
  if (clock !== undefined) return clock
  const made = new AwakeClock()
  setInterval(() => made.ms(), TICK_MS).unref()
  return (clock = made)
}

/** A clock for durations and time limits: it stands still while this process does not run. */
export function awakeMs(): number {
  return ticking().ms()
}

/** How much the time of day has moved while this process did not run, or because it was set. */
export function skippedMs(): number {
  return ticking().skippedMs()
}

/** A time of day by a clock that skipped nothing since this process began. */
export function withoutSkips(time = Date.now()): number {
  return time - skippedMs()
}

/** Calls back once this process has run for so long; what is returned cancels that. */
export function afterAwake(ms: number, callback: () => void): () => void {
  const end = awakeMs() + ms
  let timer: Timer
  const wait = (rest: number) => {
    timer = setTimeout(look, Math.min(rest, LONGEST_MS))
  }
  const look = () => {
    const rest = end - awakeMs()
    if (rest < EARLY_MS) callback()
    else wait(Math.max(rest, READ_MS))
  }
  wait(ms)
  return () => clearTimeout(timer)
}
