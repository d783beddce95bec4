import type { FailureClass } from './task.ts'

/** What a run may not exceed. */
export interface Limits {
  /** How far below `main` a task may be. */
  readonly depth: number
  /** Tasks of a run at work at once. */
  readonly running: number
  /** Tasks of a run that wait, started or not. */
  readonly queued: number
  /** Of a message, a prompt or a result, in bytes. */
  readonly messageBytes: number
}

export const DEFAULT_LIMITS: Limits = {
  depth: 5,
  running: 16,
  queued: 10_000,
  messageBytes: 1024 * 1024,
}

/** How long something holds without a sign of life, and how long a failed task pauses. */
export interface Times {
  /** A running task whose worker is not heard of. */
  readonly taskLeaseMs: number
  /** A message whose reader does not acknowledge it. */
  readonly readerLeaseMs: number
  /** An agent that said that it waits: for long, as many may wait and each has to say it again. */
  readonly waitLeaseMs: number
  readonly firstPauseMs: number
  readonly longestPauseMs: number
}

export const DEFAULT_TIMES: Times = {
  taskLeaseMs: 30_000,
  readerLeaseMs: 60_000,
  waitLeaseMs: 10 * 60_000,
  firstPauseMs: 1000,
  longestPauseMs: 5 * 60_000,
}

const RETRIED: readonly FailureClass[] = ['transient', 'lost']

/** Whether the runtime itself tries again after this attempt. */
export function isRetried(failure: FailureClass, attempt: number, retry: number): boolean {
  return RETRIED.includes(failure) && attempt <= retry
}

/**
 * Twice as long after each attempt; between half of it and all of it, so that tasks that failed
 * together do not come back together.
 */
export function pauseAfter(attempt: number, times: Times, random: number = Math.random()): number {
  const longest = Math.min(times.firstPauseMs * 2 ** (attempt - 1), times.longestPauseMs)
  return Math.round(longest * (0.5 + random / 2))
}
