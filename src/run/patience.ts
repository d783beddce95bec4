import { durationWords } from '../base/durations.ts'
import type { End, Outcome } from '../events/schema.ts'
import { outcomeWords } from '../events/outcome-words.ts'
import type { Policy } from '../plan/policy.ts'

/** Of a limit that does not say when it is over, and of one that should be over. */
const BLIND_MS = 60_000
const JUST_OVER_MS = 10_000
const MAX_BLIND_MS = 30 * 60_000
/** An attempt that took longer was not refused at once. */
const WORKED_MS = 60_000

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
  #failingSince: number | undefined
  #blindMs = 0
  /** In all, without an attempt in between that could work. */
  #waited = 0
  #until = 0

  constructor(policy: Policy) {
    this.#policy = policy
  }

  /** A pause, the end of the step, or undefined where nothing is to be waited for. */
  after(outcome: Outcome, now = Date.now()): Pause | End | undefined {
    if (outcome.kind === 'rate_limited') return this.#afterLimit(outcome, now)
    this.#blindMs = 0
    this.#waited = 0
    if (outcome.kind === 'overloaded') return this.#afterFailure(outcome, now)
    this.#failures = 0
    this.#failingSince = undefined
    return undefined
  }

  #afterLimit(outcome: Outcome & { kind: 'rate_limited' }, now: number): Pause | End {
    const { error, resetsAt = 0 } = outcome
    const reset = resetsAt * 1000
    // Whoever worked for a while has used what he waited for.
    if (now - this.#until > WORKED_MS) this.#waited = 0
    const ms = reset > now ? reset - now : this.#nextBlind(reset > 0 ? JUST_OVER_MS : BLIND_MS)
    this.#waited += ms
    if (this.#waited <= this.#policy.maxWaitMs) {
      // A moment later than all the others that wait for the same reset.
      this.#until = now + ms + jitter(Math.min(ms / 20, 60_000))
      return { why: 'quota', until: this.#until, error }
    }
    const when = reset > now ? `resets at ${new Date(reset).toISOString()}` : 'says no time'
    const words = `the limit ${when}, longer than ${durationWords(this.#policy.maxWaitMs)}`
    return { reason: 'quota', detail: words }
  }

  #nextBlind(first: number): number {
    this.#blindMs = this.#blindMs === 0 ? first : Math.min(this.#blindMs * 2, MAX_BLIND_MS)
    return this.#blindMs
  }

  #afterFailure(outcome: Outcome & { kind: 'overloaded' }, now: number): Pause | End {
    const { forMs, attempts, backoffMs, maxBackoffMs } = this.#policy.retry
    this.#failures += 1
    this.#failingSince ??= now
    const ms = Math.min(backoffMs * 2 ** (this.#failures - 1), maxBackoffMs)
    const until = now + ms / 2 + jitter(ms / 2)
    const isLate = forMs !== undefined && until - this.#failingSince > forMs
    const isOften = attempts !== undefined && this.#failures >= attempts
    if (!isLate && !isOften) return { why: 'retry', until, error: outcome.error }
    const tries = `${this.#failures} ${this.#failures === 1 ? 'try' : 'tries'}`
    return { reason: 'agent_failed', detail: `${outcomeWords(outcome)} (${tries})` }
  }
}

function jitter(ms: number): number {
  return Math.random() * ms
}
