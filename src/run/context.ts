import type { Plan } from '../chain/plan/plan.ts'
import type { RunProcesses } from './process/run-processes.ts'
import type { Ports } from './ports.ts'
import type { Spending } from './policy/spending.ts'

/** What every part of a run needs, sub-agents included. */
export interface Context {
  readonly plan: Plan
  readonly ports: Ports
  readonly processes: RunProcesses
  readonly spending: Spending
}
