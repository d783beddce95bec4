/** What a step does besides running its agent: gates, limits, budget, retries. */
export interface Policy {
  /** Commands that must succeed before a marker, or the success of a single run, counts. */
  readonly verify: readonly string[]
  /** Command whose success completes the step after an iteration without a marker. */
  readonly until?: string
  /** If this command fails, the step is skipped. */
  readonly when?: string
  /** Time limit of one iteration; absent means none. */
  readonly timeoutMs?: number
  /** Time limit without output; absent means none. */
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

/** What a group does besides running its items. */
export interface GroupPolicy {
  /** If this command fails, the group is skipped. */
  readonly when?: string
  readonly onFail: OnFail
  readonly hooks: Hooks
  readonly budget: Budget
  /** Whether the other items of a parallel group are cancelled if one does not complete. */
  readonly failFast?: boolean
}

/** What may be spent; an absent field means no limit. */
export interface Budget {
  readonly costUsd?: number
  readonly tokens?: number
  readonly ms?: number
}

/** How often, or for how long, a temporary failure is retried. */
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

/** Commands, keyed by when they run. */
export type Hooks = Readonly<Partial<Record<HookName, string>>>

export interface Grace {
  /** How long an agent may keep running after its marker. */
  readonly markerMs: number
  /** How long it may keep running after a signal. */
  readonly termMs: number
}

export const DEFAULT_GRACE: Grace = { markerMs: 60_000, termMs: 10_000 }

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** The default policy. */
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

/** The silence limit of direct agents, which report everything they do. */
export const STRUCTURED_IDLE_MS = 30 * MINUTE_MS
/** For direct agents in a git repository. */
export const DEFAULT_STALL = 3
