import type { QueueSummary } from '../../queue/store.ts'
import type { RunBrief } from '../../records/journal/runs.ts'
import { durationOf, renderRuns } from '../../views/runs.ts'
import type { StepState } from '../../records/events/step-state.ts'
import { readNewest } from './receipts.ts'
import { readRecordedPlan } from './recorded-plan.ts'

/** A run and its queue. */
export interface QueuedBrief extends Omit<RunBrief, 'status'> {
  /** Of a run without steps, `open`: some tasks have not ended; `unknown`: its queue cannot be read. */
  readonly status: RunBrief['status'] | 'open' | 'unknown'
  /** Absent if nothing was ever queued, or if the queue cannot be read. */
  readonly counts?: QueueSummary
  /** Why the queue cannot be read. */
  readonly unreadable?: string
  /** Whether it is dead and has left processes running. */
  readonly hasOrphans?: boolean
  /** Set for a run that is not complete. */
  readonly isChat?: boolean
}

/** How many iterations of a step are listed. */
const LISTED = 20

/** A run as JSON for scripts. */
export function describeRun(
  { id, folder, status, state, holder, counts, unreadable, foreign }: QueuedBrief,
  now: number,
) {
  const { chain, cwd, startedAt, ended, waiting, at } = state
  return {
    id,
    status,
    folder,
    // Absent if it was made here.
    foreign,
    chain,
    cwd,
    startedAt,
    endedAt: ended?.at,
    // A run without steps has none.
    exitCode: state.steps.length === 0 ? undefined : ended?.exitCode,
    stopped: ended?.stopped,
    pid: holder?.pid || undefined,
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

/** Whether a run can be listed: another program may have written anything into its events. */
export function isPresentable(run: RunBrief): boolean {
  try {
    renderRuns([run], Date.now())
    describeRun(run, Date.now())
    return true
  } catch {
    return false
  }
}

/** The same with the newest iterations of these steps, by default of their last round. */
export function describeWithReceipts(
  run: QueuedBrief,
  steps: readonly StepState[],
  round?: number,
) {
  const { steps: all, ...described } = describeRun(run, Date.now())
  const shown = all.flatMap((each) => {
    const step = steps.find(({ number }) => number === each.step)
    return step === undefined ? [] : [{ ...each, ...readListed(run.folder, step, round) }]
  })
  const damage = run.damage.length === 0 ? {} : { damage: run.damage }
  return { ...described, ...damage, steps: shown, plan: readRecordedPlan(run.folder) }
}

/** The newest iterations of a round of a step. */
export function readListed(folder: string, step: StepState, round: number | undefined) {
  return readNewest(folder, { ...roundOf(step, round), count: LISTED })
}

export function roundOf(
  { number: step, rounds, iterations, running }: StepState,
  round: number | undefined,
) {
  const last = Math.max(1, rounds)
  const ended = running === undefined ? iterations : iterations - 1
  return { step, round: round ?? last, ...((round ?? last) === last ? { ended } : {}) }
}
