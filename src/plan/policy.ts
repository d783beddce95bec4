/** What a step does beside its agent: when it is done, what it may take, what happens if it fails. */
export interface Policy {
  /** Commands that must succeed before a marker, or the success of a single run, is believed. */
  readonly verify: readonly string[]
  /** Command whose success completes the step after an iteration without a marker. */
  readonly until?: string
  /** Command without whose success the step is skipped. */
  readonly when?: string
  /** Of one iteration; absent: no limit. */
  readonly timeoutMs?: number
  /** Of silence; absent: no limit. */
  readonly idleMs?: number
  readonly budget: Budget
  readonly retry: Retry
  /** Longest wait for the reset of a quota. */
  readonly maxWaitMs: number
  /** Iterations without progress after which the step stops; 0: never. */
  readonly stall: number
  readonly onFail: OnFail
  readonly hooks: Hooks
  readonly env: Readonly<Record<string, string>>
  readonly grace: Grace
}

/** What may be spent; absent: no limit. */
export interface Budget {
  readonly costUsd?: number
  readonly tokens?: number
  readonly ms?: number
}

/** How often, or for how long, what may be better the next time is tried again. */
export interface Retry {
  readonly forMs?: number
  readonly attempts?: number
  readonly backoffMs: number
  readonly maxBackoffMs: number
}

/** What happens after a step that is not complete. */
export type OnFail =
  | { readonly kind: 'stop' }
  | { readonly kind: 'continue' }
  /** `step` is the number of the step. */
  | { readonly kind: 'goto'; readonly step: number; readonly times: number }
  /** `step` is the number of the recovery in `Plan.recoveries`. */
  | { readonly kind: 'run'; readonly step: number }

export type HookName = 'beforeStep' | 'afterIteration' | 'afterStep' | 'afterRun' | 'onWait'

/** Commands by the moment at which they run. */
export type Hooks = Readonly<Partial<Record<HookName, string>>>

export interface Grace {
  /** How long an agent may go on after its marker. */
  readonly markerMs: number
  /** How long it may go on after a signal was handed to it. */
  readonly termMs: number
}

export const DEFAULT_GRACE: Grace = { markerMs: 60_000, termMs: 10_000 }

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** What holds where nobody says anything else. */
export const DEFAULT_POLICY: Policy = {
  verify: [],
  timeoutMs: 4 * HOUR_MS,
  budget: {},
  retry: { forMs: 2 * HOUR_MS, backoffMs: 10_000, maxBackoffMs: 10 * MINUTE_MS },
  maxWaitMs: 6 * HOUR_MS,
  stall: 0,
  onFail: { kind: 'stop' },
  hooks: {},
  env: {},
  grace: DEFAULT_GRACE,
}

/** Of agents whose silence means something, because they tell whatever they do. */
export const STRUCTURED_IDLE_MS = 30 * MINUTE_MS
/** Of direct agents in a git repository. */
export const DEFAULT_STALL = 3
