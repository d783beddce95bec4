import { withoutSkips } from '../base/awake.ts'
import { durationWords } from '../base/durations.ts'
import { localTime } from '../base/local-time.ts'
import type { End, Outcome } from '../events/schema.ts'
import { outcomeWords } from '../events/outcome-words.ts'
import type { Policy } from '../plan/policy.ts'

/** Of a limit that does not say when it is over, and of one that should be over. */
const BLIND_MS = 60_000
const JUST_OVER_MS = 10_000
const MAX_BLIND_MS = 30 * 60_000
/** An attempt that took longer was not refused by a limit at once. */
const WORKED_MS = 60_000
/** One that took longer has worked and not only asked a server again and again, as CLIs do for minutes. */
const WORKED_LONG_MS = 10 * 60_000

/** When the same iteration is tried again, and what it waits for. */
export interface Pause {
  readonly why: 'quota' | 'retry'
  /** In ms since 1970. */
  readonly until: number
  readonly error: string
}

/** Decides how long an agent that could not work is waited for, and when that is enough. */
export class Patience {
  readonly #policy: Policy
  #failures = 0
  #blindMs = 0
  /**
   * How long each was waited for, without an attempt in between that could work. A reset comes by the
   * clock; what fails after the machine has slept gets its tries all the same.
   */
  readonly #waited = { quota: 0, retry: 0 }
  #pause: { readonly why: Pause['why']; readonly began: number } | undefined
  /** When the attempt began that is judged next. */
  #began: number | undefined

  constructor(policy: Policy) {
    this.#policy = policy
  }

  /** To be told when a pause is over, however it ended. */
  waited(now = Date.now()): void {
    if (this.#pause !== undefined) {
      const { why, began } = this.#pause
      this.#waited[why] += Math.max(0, clockOf(why, now) - began)
    }
    this.#pause = undefined
    this.#began = withoutSkips(now)
  }

  /** A pause, the end of the step, or undefined where nothing is to be waited for. */
  after(outcome: Outcome, now = Date.now()): Pause | End | undefined {
    const workedMs = this.#began === undefined ? 0 : withoutSkips(now) - this.#began
    const next = this.#decide(outcome, workedMs, now)
    this.#pause =
      next !== undefined && 'why' in next
        ? { why: next.why, began: clockOf(next.why, now) }
        : undefined
    return next
  }

  #decide(outcome: Outcome, workedMs: number, now: number): Pause | End | undefined {
    const isLimit = outcome.kind === 'rate_limited'
    const isFailure = outcome.kind === 'overloaded'
    const isLong = workedMs > WORKED_LONG_MS
    // Whoever worked for a while has used what he waited for.
    if (isLong || (!isFailure && (!isLimit || workedMs > WORKED_MS))) this.#forgetLimits()
    if (isLong || !isFailure) this.#forgetFailures()
    if (isLimit) return this.#afterLimit(outcome, now)
    return isFailure ? this.#afterFailure(outcome, now) : undefined
  }

  #forgetLimits(): void {
    this.#blindMs = 0
    this.#waited.quota = 0
  }

  #forgetFailures(): void {
    this.#failures = 0
    this.#waited.retry = 0
  }

  #afterLimit(outcome: Outcome & { kind: 'rate_limited' }, now: number): Pause | End {
    const { error, resetsAt = 0 } = outcome
    const reset = resetsAt * 1000
    const ms = reset > now ? reset - now : this.#nextBlind(reset > 0 ? JUST_OVER_MS : BLIND_MS)
    if (this.#waited.quota + ms > this.#policy.maxWaitMs) {
      return { reason: 'quota', detail: this.#limitWords(reset, now) }
    }
    // A moment later than all the others that wait for the same reset.
    return { why: 'quota', until: now + ms + jitter(Math.min(ms / 20, 60_000)), error }
  }

  #limitWords(reset: number, now: number): string {
    const time = localTime(reset)
    const isPast = reset > 0 && reset <= now
    const when =
      reset > now
        ? `resets at ${time}`
        : isPast
          ? `holds on, although it said ${time}`
          : 'says no time'
    const { quota } = this.#waited
    const before = quota < 1000 ? '' : ` with the ${durationWords(quota)} waited already`
    return `the limit ${when}, longer than the maxWait of ${durationWords(this.#policy.maxWaitMs)}${before}`
  }

  #nextBlind(first: number): number {
    this.#blindMs = this.#blindMs === 0 ? first : Math.min(this.#blindMs * 2, MAX_BLIND_MS)
    return this.#blindMs
  }

  #afterFailure(outcome: Outcome & { kind: 'overloaded' }, now: number): Pause | End {
    const { forMs = Infinity, attempts = Infinity, backoffMs, maxBackoffMs } = this.#policy.retry
    this.#failures += 1
    const most = Math.min(backoffMs * 2 ** (this.#failures - 1), maxBackoffMs)
    const ms = most / 2 + jitter(most / 2)
    const isOver = this.#waited.retry + ms > forMs || this.#failures >= attempts
    if (!isOver) return { why: 'retry', until: now + ms, error: outcome.error }
    const tries = `${this.#failures} ${this.#failures === 1 ? 'try' : 'tries'}`
    return { reason: 'agent_failed', detail: `${outcomeWords(outcome)} (${tries})` }
  }
}

/** The time of day, or, for tries, without what forkhestra slept through. */
function clockOf(why: Pause['why'], now: number): number {
  return why === 'quota' ? now : withoutSkips(now)
}

function jitter(ms: number): number {
  return Math.random() * ms
}
