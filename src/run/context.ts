import type { Plan } from '../plan/plan.ts'
import type { Family } from './family.ts'
import type { Ports } from './ports.ts'
import type { ProgressWatch } from './progress-watch.ts'
import type { Queues } from './queues.ts'
import type { Spending } from './spending.ts'

/** What every part of a run needs. */
export interface Context {
  readonly plan: Plan
  readonly ports: Ports
  readonly family: Family
  readonly spending: Spending
  readonly progress: ProgressWatch
  readonly queues: Queues
}
