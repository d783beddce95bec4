import { DEFAULT_PARALLEL, type Plan } from '../../chain/plan/plan.ts'
import { RunProcesses } from '../process/run-processes.ts'
import { ProgressWatch } from '../progress/progress-watch.ts'
import { LazyBranches } from '../branches/lazy-branches.ts'
import type { OpenBranch } from '../branches/open-branch.ts'
import { RunQueues } from '../subagents/run-queues.ts'
import type { Context } from '../context.ts'
import type { Ports } from '../ports.ts'
import { SharedLimits } from '../policy/shared-limits.ts'
import { Spending } from '../policy/spending.ts'
import type { Builders } from './builders.ts'
import { Slots } from './slots.ts'

/** What the steps of a run need. */
export interface OpenRun extends Context {
  readonly progress: ProgressWatch
  readonly queues: RunQueues
  /** Loaded when the first branch needs a worktree. */
  readonly branches: LazyBranches
  /** The branch that this part of the run works in, if it has its own worktree. */
  readonly branch?: OpenBranch
  /** The parallel agents that build from tasks; absent if nothing runs in parallel. */
  readonly builders?: Builders
  readonly slots: Slots
  readonly limits: SharedLimits
  /** Whether it was stopped before it could handle the failure of a step. */
  readonly stopped: { isUnhandled: boolean }
}

export async function openRun(plan: Plan, ports: Ports): Promise<OpenRun> {
  const processes = await RunProcesses.of(plan.run, ports)
  const context = { plan, ports, processes, spending: new Spending(plan, ports.state) }
  return {
    ...context,
    progress: new ProgressWatch(plan, ports),
    queues: new RunQueues(context),
    branches: new LazyBranches(context),
    slots: new Slots(plan.maxParallel ?? DEFAULT_PARALLEL),
    limits: new SharedLimits(plan, ports.state()),
    stopped: { isUnhandled: false },
  }
}
