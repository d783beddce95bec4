import type { Fact, Launch, LoopLaunch, ProcessLaunch } from '../engines/engine.ts'
import type { Outcome, Refusal, Usage } from '../events/schema.ts'
import type { Plan, StepNode } from '../plan/plan.ts'
import type { Budget } from '../plan/policy.ts'
import type { QueueDoor } from '../verbs/door.ts'
import type { Exit } from './child.ts'
import type { Family } from './family.ts'
import type { Words } from './last-words.ts'
import { Listener } from './listener.ts'
import { followLoop, type LoopHands, type LoopSupervision } from './loop.ts'
import type { Place } from './place.ts'
import type { Ports } from './ports.ts'
import { beginNative } from './native-turn.ts'
import { startProcess, type Cut, type Supervision } from './process.ts'
import type { Purse, Spending } from './spending.ts'
import { whyNotDone } from './task-check.ts'
import { Verdict } from './verdict.ts'

/** What starting an agent once has come to. */
export interface Turned {
  readonly outcome: Outcome
  /** What it would have come to without its marker. */
  readonly unmarked: Outcome
  readonly outputBytes: number
  readonly refusal?: Refusal | undefined
  readonly usage?: Usage | undefined
  /** Its last words. */
  readonly said: Words
}

/** What belongs to one turn alone. */
interface Following {
  readonly place: Place
  readonly env: Record<string, string>
  /** What it may spend. */
  readonly left: Budget
  readonly stop: AbortSignal
  /** Queue and inbox of an agent of this process. */
  readonly queue?: QueueDoor | undefined
  /** How an agent of this process begins, if not with a conversation of its own. */
  readonly begin?: typeof beginNative | undefined
}

interface Surroundings {
  readonly plan: Plan
  readonly ports: Ports
  readonly family: Family
  readonly spending: Spending
}

/** Starts an agent; what it says goes to the decoders and to the outside. */
export function followAgent(
  launch: Launch,
  step: StepNode,
  following: Following,
  surroundings: Surroundings,
): { readonly pid?: number; readonly end: Promise<Turned> } {
  const { place } = following
  const { ports, spending } = surroundings
  const verdict = new Verdict()
  const purse = spending.open(place)
  const { timeoutMs, idleMs, grace } = step.policy
  const watch = {
    grace,
    limits: { timeoutMs, idleMs, budget: purse.spent },
    stop: following.stop,
    force: ports.force,
    enough: Promise.race([
      markerToBelieve(verdict.marker, step, place, surroundings),
      verdict.blocked,
    ]),
  }
  const started =
    launch.kind === 'loop'
      ? startLoop(launch, step, { ...following, tokens: () => purse.tokensLeft() }, surroundings, {
          ...watch,
          take: (fact) => listener.hearFact(fact),
        })
      : start(launch, step, following, surroundings, {
          ...watch,
          take: (stream, bytes) => listener.hear(stream, bytes),
        })
  // Made while the agent begins: it cannot have said anything yet.
  const listener = new Listener(launch, place, verdict, ports, (usage) => purse.look(usage))
  const over = started.over.finally(() => {
    listener.close()
    purse.close()
  })
  const end = over.then((exit) => {
    listener.end()
    const { refusal, usage } = verdict
    const { outputBytes, lastWords: said } = listener
    const unmarked = verdict.unmarked(exit)
    return { outcome: verdict.outcome(exit), outputBytes, refusal, usage, unmarked, said }
  })
  return { ...(started.pid === undefined ? {} : { pid: started.pid }), end }
}

interface Started {
  readonly pid?: number
  readonly over: Promise<Exit | Cut | undefined>
}

function start(
  launch: ProcessLaunch,
  { cwd }: StepNode,
  { env }: Following,
  { family }: Surroundings,
  watch: Omit<Supervision, 'cwd' | 'env'>,
): Started {
  const { pid, finished } = startProcess(launch, { ...watch, cwd, env: { ...env, ...launch.env } })
  return { pid, over: family.whileAlive(pid, finished) }
}

interface Counted {
  readonly tokens: Purse['tokensLeft']
}

function startLoop(
  launch: LoopLaunch,
  step: StepNode,
  { place, env, left, tokens, queue, begin: beginTurn = beginNative }: Following & Counted,
  { ports, family }: Surroundings,
  watch: LoopSupervision,
): Started {
  const { costUsd } = left
  const limits = { ...(costUsd === undefined ? {} : { costUsd }), tokens }
  const door = launch.turn.queue === undefined ? undefined : queue
  const turn = { step, place, env, left: limits, queue: door, ports, family }
  const begin = (hands: LoopHands): AsyncIterable<Fact> => beginTurn(launch, turn, hands)
  return { over: followLoop(begin, watch) }
}

/** Settles when an agent has said all: a marker that will not be believed does not end its work. */
async function markerToBelieve(
  marker: Promise<void>,
  step: StepNode,
  { iteration }: Place,
  surroundings: Surroundings,
): Promise<void> {
  await marker
  if (whyNotDone(step, iteration, surroundings) !== undefined) await new Promise(() => undefined)
}
