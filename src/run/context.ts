import type { Plan } from '../plan/plan.ts'
import type { Family } from './family.ts'
import type { Ports } from './ports.ts'
import type { ProgressWatch } from './progress-watch.ts'

/** What every part of a run needs. */
export interface Context {
  readonly plan: Plan
  readonly ports: Ports
  readonly family: Family
  readonly progress: ProgressWatch
}
