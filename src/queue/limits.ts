import type { FailureClass } from './task.ts'

/** The store's time in ms since 1970; only tests use another clock. */
export interface Clock {
  now(): number
}

export const SYSTEM_CLOCK: Clock = { now: () => Date.now() }

export interface QueueLimits {
  /** How far below `main` a task may be. */
  readonly depth: number
  /** Running tasks of a run. */
  readonly running: number
  /** Tasks of a run that are queued or ready. */
  readonly queued: number
  /** Size of a message, a prompt or a result. */
  readonly messageBytes: number
}

export const DEFAULT_LIMITS: QueueLimits = {
  depth: 5,
  running: 16,
  queued: 10_000,
  messageBytes: 1024 * 1024,
}

/** How long leases last without a renewal, and how long a failed task pauses. */
export interface QueueTimes {
  /** A running task whose worker sends no heartbeat. */
  readonly taskLeaseMs: number
  /** A message whose reader does not acknowledge it. */
  readonly readerLeaseMs: number
  /** A waiting agent; long, because many may wait and each has to renew. */
  readonly waitLeaseMs: number
  readonly firstPauseMs: number
  readonly longestPauseMs: number
}

export const DEFAULT_TIMES: QueueTimes = {
  taskLeaseMs: 30_000,
  readerLeaseMs: 60_000,
  waitLeaseMs: 10 * 60_000,
  firstPauseMs: 1000,
  longestPauseMs: 5 * 60_000,
}

const RETRIED: readonly FailureClass[] = ['transient', 'lost']

export function mayRetry(failure: FailureClass, attempt: number, retry: number): boolean {
  return RETRIED.includes(failure) && attempt <= retry
}

/** Exponential backoff with jitter, so that tasks that failed together are not retried together. */
export function pauseAfter(
  attempt: number,
  times: QueueTimes,
  random: number = Math.random(),
): number {
  const longest = Math.min(times.firstPauseMs * 2 ** (attempt - 1), times.longestPauseMs)
  return Math.round(longest * (0.5 + random / 2))
}
