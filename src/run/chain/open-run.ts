import type { Plan } from '../../chain/plan/plan.ts'
import { Family } from '../process/family.ts'
import { ProgressWatch } from '../progress/progress-watch.ts'
import { RunQueues } from '../subagents/run-queues.ts'
import type { Context } from '../context.ts'
import type { Ports } from '../ports.ts'
import { Spending } from '../policy/spending.ts'

/** What the steps of a run need. */
export interface OpenRun extends Context {
  readonly progress: ProgressWatch
  readonly queues: RunQueues
}

export async function openRun(plan: Plan, ports: Ports): Promise<OpenRun> {
  const family = await Family.of(plan.run, ports)
  const context = { plan, ports, family, spending: new Spending(plan, ports.state) }
  const progress = new ProgressWatch(plan, ports)
  return { ...context, progress, queues: new RunQueues(context) }
}
