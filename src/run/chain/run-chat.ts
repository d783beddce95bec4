import type { End } from '../../records/events/schema.ts'
import { stepAt } from '../../records/events/state.ts'
import { stepsOf, type Plan, type StepNode } from '../../chain/plan/plan.ts'
import type { QueueProvider } from '../../queue/tools/provider.ts'
import { ChatTurns, type Person } from './chat-turns.ts'
import { Family } from '../process/family.ts'
import { placeOf } from './place.ts'
import { EXIT_CODES, stopReasonOf, type Ports } from './ports.ts'
import { RunQueues } from '../subagents/run-queues.ts'
import { announce } from './run-plan.ts'
import { Spending } from './spending.ts'

/** What the front end of a chat needs besides the conversation. */
export interface Chat {
  readonly run: string
  readonly queue: QueueProvider | undefined
  readonly ports: Ports
}

/** Runs a chat: a run whose only step is a conversation, until the person leaves. */
export async function runChat(
  plan: Plan,
  ports: Ports,
  join: (chat: Chat) => Person,
): Promise<void> {
  announce(plan, ports)
  const step = stepsOf(plan.root)[0]!
  const family = await Family.of(plan.run, ports)
  const spending = new Spending(plan, ports.state)
  const queues = new RunQueues(plan, ports, family, spending)
  const person = join({ run: plan.run, queue: queues.provider(), ports })
  const turns = new ChatTurns({ plan, ports, family, spending, queues }, step, person)
  const { emit } = ports
  emit({ type: 'step_started', ...placeOf(step, roundOf(step, ports) + 1), agent: step.agent.name })
  let leftovers
  let end: End
  try {
    await queues.begin()
    await turns.talk()
    person.leaves()
    end = endOf(person.hasFailed(turns.failures), ports)
    await queues.endStep(step, end)
    await queues.endWork()
  } finally {
    leftovers = await family.end(ports.force)
  }
  const left = await queues.left()
  await queues.close()
  const { iterations, spent } = stepAt(ports.state(), step.number)
  const place = placeOf(step, roundOf(step, ports))
  const { failures } = turns
  emit({
    type: 'step_ended',
    ...place,
    agent: step.agent.name,
    ...endOf(end.reason !== 'single_run', ports),
    iterations,
    failures,
    spent,
  })
  const stopped = ports.stop.aborted ? stopReasonOf(ports.stop) : undefined
  const failed = end.reason === 'single_run' && queues.isSound ? 0 : 1
  const exitCode = stopped === undefined ? failed : EXIT_CODES[stopped.signal]
  emit({
    type: 'run_ended',
    ok: exitCode === 0,
    exitCode,
    ...(stopped === undefined ? {} : { stopped }),
    leftovers,
    spent: ports.state().spent,
    ...(left === undefined ? {} : { queue: left }),
  })
}

function roundOf({ number }: StepNode, { state }: Ports): number {
  return stepAt(state(), number).rounds
}

function endOf(isFailed: boolean, { stop }: Ports): End {
  if (stop.aborted) return { reason: 'interrupted', detail: stopReasonOf(stop).words }
  return { reason: isFailed ? 'agent_failed' : 'single_run' }
}
