import { stepAt } from '../../records/events/state.ts'
import { stepsOf, type Plan } from '../../chain/plan/plan.ts'
import type { QueueProvider } from '../../queue/tools/provider.ts'
import { ChatTurns, type Person } from './chat-turns.ts'
import type { OpenRun } from './open-run.ts'
import { placeOf } from '../place.ts'
import { interrupted, type Ports } from '../ports.ts'
import { runPlan } from './run-plan.ts'
import { endStep } from './run-step.ts'

/** What the front end of a chat needs besides the conversation. */
export interface Chat {
  readonly run: string
  readonly queue: QueueProvider | undefined
  readonly ports: Ports
}

type Join = (chat: Chat) => Person

/** Runs a chat, which is a run whose only step is a conversation, until the user leaves. */
export function runChat(plan: Plan, ports: Ports, join: Join): Promise<void> {
  return runPlan(plan, ports, (run) => converse(run, join))
}

async function converse(run: OpenRun, join: Join): Promise<void> {
  const { plan, ports, queues } = run
  const step = stepsOf(plan.root)[0]!
  const person = join({ run: plan.run, queue: queues.provider(step), ports })
  const turns = new ChatTurns(run, step, person)
  const { rounds } = stepAt(ports.state(), step)
  ports.emit({ type: 'step_started', ...placeOf(step, rounds + 1), agent: step.agent.name })
  await queues.begin()
  await turns.talk()
  person.leaves()
  const { failures } = turns
  const reason = person.hasFailed(failures) ? 'agent_failed' : 'single_run'
  const end = () => (ports.stop.aborted ? interrupted(ports.stop) : ({ reason } as const))
  await queues.endStep(step, end())
  endStep(step, { ...end(), failures }, ports)
}
