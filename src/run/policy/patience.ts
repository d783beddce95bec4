import { withoutSkips } from '../../base/awake.ts'
import { formatDuration } from '../../base/durations.ts'
import { localTime } from '../../base/local-time.ts'
import type { End, Outcome } from '../../records/events/schema.ts'
import { describeOutcome } from '../../records/events/describe-outcome.ts'
import type { Policy } from '../../chain/plan/policy.ts'

/**
 * Initial waits: for a limit without a reset time, and for one whose reset time has passed or was imminent last
 * time.
 */
const BLIND_MS = 60_000
const JUST_OVER_MS = 10_000
const MAX_BLIND_MS = 30 * 60_000
/** An attempt that took longer was not rejected by a rate limit immediately. */
const WORKED_MS = 60_000
/** An attempt that took longer did real work: CLIs retry on their own for only a few minutes. */
const WORKED_LONG_MS = 10 * 60_000

/** A wait before the same iteration is retried. */
export interface Pause {
  readonly why: 'quota' | 'retry'
  /** In ms since the epoch. */
  readonly until: number
  readonly error: string
}

/** Why a wait ends a step or a task. */
export function waitTooLong({ until }: Pause): string {
  return `a wait until ${localTime(until)} would exceed the remaining time budget`
}

/** Decides how long to wait after rate limits and failures, and when to give up. */
export class Patience {
  readonly #policy: Policy
  #failures = 0
  #blindMs = 0
  /** Whether it has already waited for a reset time that was seconds away. */
  #wasClose = false
  /**
   * Time waited for each since an attempt last did real work. Quotas follow the wall clock; retries exclude
   * time while the machine slept.
   */
  readonly #waited = { quota: 0, retry: 0 }
  #pause: { readonly why: Pause['why']; readonly began: number } | undefined
  /** When the current attempt began. */
  #began: number | undefined

  constructor(policy: Policy) {
    this.#policy = policy
  }

  /** Call when a pause ends, for whatever reason. */
  waited(now = Date.now()): void {
    if (this.#pause !== undefined) {
      const { why, began } = this.#pause
      this.#waited[why] += Math.max(0, clockOf(why, now) - began)
    }
    this.#pause = undefined
    this.#began = withoutSkips(now)
  }

  /** A pause, the end of the step, or undefined if no wait is needed. */
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
    // After real work the next limit or failure is a new one.
    if (isLong || (!isFailure && (!isLimit || workedMs > WORKED_MS))) this.#forgetLimits()
    if (isLong || !isFailure) this.#forgetFailures()
    if (isLimit) return this.#afterLimit(outcome, now)
    return isFailure ? this.#afterFailure(outcome, now) : undefined
  }

  #forgetLimits(): void {
    this.#blindMs = 0
    this.#wasClose = false
    this.#waited.quota = 0
  }

  #forgetFailures(): void {
    this.#failures = 0
    this.#waited.retry = 0
  }

  #afterLimit(outcome: Outcome & { kind: 'rate_limited' }, now: number): Pause | End {
    const { error, resetsAt = 0 } = outcome
    const reset = resetsAt * 1000
    const isClose = reset <= now + JUST_OVER_MS
    // A reset time that always lies just ahead must not cause a request per second.
    const isBelieved = reset > now && !(isClose && this.#wasClose)
    this.#wasClose ||= isClose
    const ms = isBelieved ? reset - now : this.#nextBlind(reset > 0 ? JUST_OVER_MS : BLIND_MS)
    if (this.#waited.quota + ms > this.#policy.maxWaitMs) {
      return { reason: 'quota', detail: this.#describeLimit(reset, now) }
    }
    // Jitter, because many clients wait for the same reset.
    return { why: 'quota', until: now + ms + jitter(Math.min(ms / 20, 60_000)), error }
  }

  #describeLimit(reset: number, now: number): string {
    const time = localTime(reset)
    const isPast = reset > 0 && reset <= now
    const when =
      reset > now
        ? `resets at ${time}`
        : isPast
          ? `should have reset at ${time} but is still in effect`
          : 'has no reset time'
    const { quota } = this.#waited
    const before = quota < 1000 ? '' : ` (${formatDuration(quota)} waited already)`
    return `the limit ${when}: waiting would exceed the maxWait of ${formatDuration(this.#policy.maxWaitMs)}${before}`
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
    return { reason: 'agent_failed', detail: `${describeOutcome(outcome)} (${tries})` }
  }
}

/** Wall clock for quotas; for retries, time while the machine slept is excluded. */
function clockOf(why: Pause['why'], now: number): number {
  return why === 'quota' ? now : withoutSkips(now)
}

function jitter(ms: number): number {
  return Math.random() * ms
}
