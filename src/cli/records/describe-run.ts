import { durationOf } from '../../views/runs.ts'
import type { QueuedBrief } from './with-queue.ts'

/** A run as a script gets it. */
export function describeRun(
  { id, folder, status, state, holder, counts, unreadable, foreign }: QueuedBrief,
  now: number,
) {
  const { chain, cwd, startedAt, ended, waiting, at } = state
  return {
    id,
    status,
    folder,
    // Absent where it was made here.
    foreign,
    chain,
    cwd,
    startedAt,
    endedAt: ended?.at,
    // Without steps nothing was carried out that could have had one.
    exitCode: state.steps.length === 0 ? undefined : ended?.exitCode,
    stopped: ended?.stopped,
    pid: holder?.pid,
    at,
    waiting: waiting && { why: waiting.why, until: waiting.until, error: waiting.error },
    spent: { ...state.spent, ms: durationOf({ id, status, state }, now) },
    counts,
    unreadable,
    steps: state.steps.map((step) => ({
      step: step.number,
      agent: step.agent,
      name: step.name,
      isRecovery: step.isRecovery,
      maxIterations: step.maxIterations,
      rounds: step.rounds,
      iterations: step.iterations,
      failures: step.failures,
      running: step.running,
      reason: step.reason,
      detail: step.detail,
      isPassed: step.isPassed,
      lastOutcome: step.lastOutcome,
      spent: step.spent,
    })),
  }
}
