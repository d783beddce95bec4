import type { UserError } from '../base/errors.ts'
import type { End, Outcome } from '../events/schema.ts'
import { stepAt } from '../events/state.ts'
import { stepsOf, type Plan, type StepNode } from '../plan/plan.ts'
import type { QueueDoor } from '../verbs/door.ts'
import { ChatTurns } from './chat-turns.ts'
import { Family } from './family.ts'
import { placeOf } from './place.ts'
import { EXIT_CODES, stopReasonOf, type Ports } from './ports.ts'
import { Queues } from './queues.ts'
import { announce } from './run-plan.ts'
import { Spending } from './spending.ts'

/** Who talks to the agent. */
export interface Person {
  /** What is said next; undefined: nothing more. `stop` aborts when the chat has to end. */
  next(stop: AbortSignal): Promise<string | undefined>
  /** A turn begins; what is returned aborts when the person wants it to end. */
  turnBegins(): AbortSignal
  /** A piece of the answer. */
  hear(piece: string): void
  /** What was heard of a message does not count: it is given again, from its beginning. */
  hearAnew(): void
  /** The turn is over; undefined: there was nothing that the agent had to be asked. */
  turnEnds(outcome: Outcome | undefined): void
  /** What was said could not be understood, and nothing of it has taken effect. */
  refused(error: UserError): void
  /** Nothing more is said, and the run ends as soon as its sub-agents have. */
  leaves(): void
  /** Whether so many turns that failed, or what else went wrong, make the whole a failure. */
  hasFailed(failures: number): boolean
}

/** What else a person may do in a chat. */
export interface ChatRoom {
  readonly run: string
  readonly door: QueueDoor | undefined
  readonly ports: Ports
}

/** Lets a person talk to the agent of a plan, for as long as the person likes. */
export async function runChat(
  plan: Plan,
  ports: Ports,
  meet: (room: ChatRoom) => Person,
): Promise<void> {
  announce(plan, ports)
  const step = stepsOf(plan.root)[0]!
  const family = await Family.of(plan.run, ports)
  const spending = new Spending(plan, ports.state)
  const queues = new Queues(plan, ports, family, spending)
  const person = meet({ run: plan.run, door: queues.door(), ports })
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
  const failed = end.reason === 'single_run' ? 0 : 1
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
