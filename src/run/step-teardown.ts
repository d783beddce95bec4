import { UserError } from '../base/errors.ts'
import type { NotQueued } from '../events/schema.ts'
import { stepAt } from '../events/state.ts'
import { makeLaunch } from '../plan/launch.ts'
import { builtInVariables, type Plan, type StepNode } from '../plan/plan.ts'
import type { QueueStore } from '../queue/store.ts'
import { MAIN } from '../queue/task.ts'
import { notQueuedWords } from './not-queued.ts'
import { placeOf } from './place.ts'
import type { Ports } from './ports.ts'
import { allRefused, pushesAfter, tearDown, type Phases } from './prompt-tasks.ts'

interface Surroundings {
  readonly plan: Plan
  readonly ports: Ports
  readonly open: () => Promise<QueueStore>
}

/** Queues what the prompt of a step wants after its agent, once. */
export async function tearDownStep(
  step: StepNode,
  phases: Phases,
  isSuccess: boolean,
  { plan, ports, open }: Surroundings,
): Promise<void> {
  const { rounds, notQueued: before = [] } = stepAt(ports.state(), step.number)
  const id = `${plan.run}.${step.id}.teardown`
  const { pushed, refused } = await open()
    .then((store) => tearDown(phases, isSuccess, id, { store, run: plan.run, agent: MAIN }))
    .catch((error: unknown) => {
      if (!(error instanceof UserError)) throw error
      return allRefused(pushesAfter(phases, isSuccess, id), error)
    })
  const notQueued = refused.map(({ name, error }) => asNotQueued(name, error))
  for (const each of notQueued) {
    const text = `after step ${step.number} (${step.agent.name}): ${notQueuedWords(each)}`
    ports.emit({ type: 'warning', text })
  }
  // An earlier round has done it.
  if (pushed.length + notQueued.length + before.length === 0) return
  const done = { pushed: [...pushed], started: [], held: 0 }
  const left = notQueued.length === 0 ? {} : { notQueued }
  const place = placeOf(step, rounds)
  ports.emit({ type: 'phase_ended', ...place, phase: 'teardown', ...done, ...left })
}

function asNotQueued(name: string, { message: error, hint }: UserError): NotQueued {
  return { name, error, ...(hint === undefined ? {} : { hint }) }
}

/** Of a step whose agent ran in an earlier process. */
export function readPhasesOf(step: StepNode, plan: Plan, { state, readPrompt }: Ports): Phases {
  const { iterations } = stepAt(state(), step.number)
  const values = builtInVariables(plan.run, step, Math.max(1, iterations))
  return makeLaunch(step, values, readPrompt).phases
}
