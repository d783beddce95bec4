/** The longest delay of `setTimeout`. */
const LONGEST_MS = 2 ** 31 - 1
/** How often the clock is read. */
const TICK_MS = 500
/** A longer time between two readings means that this process did not run. */
const GAP_MS = 1500
/** Smaller differences between the clocks are ignored. */
const TOLERANCE_MS = 1000
/** After a gap, pending input is read before a time limit expires. */
const READ_MS = 50
/** Timers may fire this much too early. */
const EARLY_MS = 2

/** The wall clock and the monotonic clock; tests pass their own. */
export const CLOCKS = { time: () => Date.now(), passed: () => performance.now() }

/**
 * Counts the time in which this process ran. The monotonic clock continues while a process is
 * stopped; whether it continues while the machine sleeps depends on the system.
 */
export class AwakeClock {
  readonly #clocks: typeof CLOCKS
  readonly #began: number
  #lastRead: number
  #ms = 0
  #skipped = 0

  constructor(clocks = CLOCKS) {
    this.#clocks = clocks
    this.#began = clocks.time()
    this.#lastRead = clocks.passed()
  }

  /** Must be called at least every `TICK_MS`. */
  ms(): number {
    const now = this.#clocks.passed()
    const step = now - this.#lastRead
    this.#lastRead = now
    if (step < GAP_MS) this.#ms += step
    return this.#ms
  }

  /** How far the wall clock is ahead of the time in which the process ran; may be negative. */
  skippedMs(): number {
    const skipped = Math.round(this.#clocks.time() - this.#began - this.ms())
    if (Math.abs(skipped - this.#skipped) >= TOLERANCE_MS) this.#skipped = skipped
    return this.#skipped
  }
}

let clock: AwakeClock | undefined

function sharedClock(): AwakeClock {
  if (clock !== undefined) return clock
  const made = new AwakeClock()
  setInterval(() => made.ms(), TICK_MS).unref()
  return (clock = made)
}

/** A clock for durations and time limits that pauses while this process is not running. */
export function awakeMs(): number {
  return sharedClock().ms()
}

/** How far the wall clock has moved because this process did not run or because the clock was set. */
export function skippedMs(): number {
  return sharedClock().skippedMs()
}

/** A wall clock time, corrected by `skippedMs`. */
export function withoutSkips(time = Date.now()): number {
  return time - skippedMs()
}

/** Calls back once this process has run for `ms`. Returns a function that cancels it. */
export function afterAwake(ms: number, callback: () => void): () => void {
  const end = awakeMs() + ms
  let timer: Timer
  const wait = (rest: number) => {
    timer = setTimeout(check, Math.min(Math.max(rest, 0), LONGEST_MS))
  }
  const check = () => {
    const rest = end - awakeMs()
    if (rest < EARLY_MS) callback()
    else wait(Math.max(rest, READ_MS))
  }
  wait(ms)
  return () => clearTimeout(timer)
}
