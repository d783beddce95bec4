import { stepAt } from '../events/state.ts'
import { makeLaunch } from '../plan/launch.ts'
import { builtInVariables, type Plan, type StepNode } from '../plan/plan.ts'
import type { QueueStore } from '../queue/store.ts'
import { MAIN } from '../queue/task.ts'
import { placeOf } from './place.ts'
import type { Ports } from './ports.ts'
import { tearDown, type Phases } from './prompt-tasks.ts'

interface Surroundings {
  readonly plan: Plan
  readonly ports: Ports
  readonly store: QueueStore
}

/** Queues what the prompt of a step wants after its agent, once. */
export async function tearDownStep(
  step: StepNode,
  phases: Phases,
  isSuccess: boolean,
  { plan, ports, store }: Surroundings,
): Promise<void> {
  const { rounds } = stepAt(ports.state(), step.number)
  const owner = { store, run: plan.run, agent: MAIN }
  const pushed = await tearDown(phases, isSuccess, `${plan.run}.${step.id}.teardown`, owner)
  // An earlier round has done it.
  if (pushed.length === 0) return
  const done = { pushed, started: [], held: 0 }
  ports.emit({ type: 'phase_ended', ...placeOf(step, rounds), phase: 'teardown', ...done })
}

/** Of a step whose agent ran in an earlier process. */
export function readPhasesOf(step: StepNode, plan: Plan, { state, readPrompt }: Ports): Phases {
  const { iterations } = stepAt(state(), step.number)
  const values = builtInVariables(plan.run, step, Math.max(1, iterations))
  return makeLaunch(step, values, readPrompt).phases
}
