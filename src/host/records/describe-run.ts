import { branchName } from '../../records/events/branch-name.ts'
import type { EventOf } from '../../records/events/event.ts'
import { waitsOf } from '../../records/events/waits.ts'
import type { QueueSummary } from '../../queue/store.ts'
import type { RunBrief } from '../../records/journal/runs.ts'
import { durationOf, renderRuns, type RecordedRun } from '../../views/runs.ts'
import type { StepState } from '../../records/events/step-state.ts'
import { readAttempts } from './attempts.ts'
import { readNewest } from './receipts.ts'
import { readRecordedPlan } from './recorded-plan.ts'

export interface QueuedBrief extends Omit<RunBrief, 'status'>, RecordedRun {
  /** Absent if nothing was ever queued, or if the queue cannot be read. */
  readonly counts?: QueueSummary
}

/** A run as JSON for scripts. */
export function describeRun(
  { id, folder, status, state, holder, counts, unreadable, foreign }: QueuedBrief,
  now: number,
) {
  const { chain, cwd, startedAt, ended, waiting, at, branches } = state
  const waits = waitsOf(state)
  return {
    id,
    status,
    folder,
    // Absent if it was created here.
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
    waiting: waiting && describeWait(waiting),
    // Branches wait independently.
    waits: waits.length > 1 ? waits.map(describeWait) : undefined,
    spent: { ...state.spent, ms: durationOf({ id, status, state }, now) },
    counts,
    unreadable,
    branches: branches?.map((branch) => ({
      name: branchName(state, branch.scope),
      scope: branch.scope,
      branch: branch.branch,
      path: branch.path,
      into: branch.into,
      merged: branch.merged,
      commits: branch.commits,
      isOpen: branch.isOpen,
      kept: branch.kept,
    })),
    steps: state.steps.map((step) => ({
      step: step.number,
      // Only in groups, and for copies.
      scope: step.key.includes('/') ? step.key.split('/') : undefined,
      branch: branchName(state, step.key.split('/')),
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

function describeWait({ scope, task, why, until, error }: EventOf<'waiting'>) {
  return { why, until, error, scope, task }
}

/** Whether a run can be listed; another program may have written anything into its events. */
export function isPresentable(run: RunBrief): boolean {
  try {
    renderRuns([run], Date.now())
    describeRun(run, Date.now())
    return true
  } catch {
    return false
  }
}

/** The same with the attempts of these steps and their newest receipts, by default of their last round. */
export function describeWithReceipts(
  run: QueuedBrief,
  steps: readonly StepState[],
  round?: number,
) {
  const { steps: all, ...described } = describeRun(run, Date.now())
  const wanted = new Set(steps)
  const shown = run.state.steps.flatMap((step, index) =>
    wanted.has(step) ? [{ ...all[index]!, ...readNewest(run.folder, step, round) }] : [],
  )
  const damage = run.damage.length === 0 ? {} : { damage: run.damage }
  const attempts = readAttempts(run, steps, round)
  return { ...described, ...damage, steps: shown, attempts, plan: readRecordedPlan(run.folder) }
}
