import type { Fact, Launch, LoopLaunch, ProcessLaunch } from '../../engines/engine.ts'
import type { Outcome, Refusal, Usage } from '../../records/events/schema.ts'
import type { StepNode } from '../../chain/plan/plan.ts'
import type { Budget } from '../../chain/plan/policy.ts'
import type { QueueProvider } from '../../queue/tools/provider.ts'
import type { Exit } from '../process/child.ts'
import type { Allowance, Context } from '../chain/context.ts'
import type { Words } from './last-words.ts'
import { Listener } from './listener.ts'
import { followLoop, type LoopDelivery, type LoopSupervision } from './loop.ts'
import type { Place } from '../chain/place.ts'
import { beginNative } from './native-turn.ts'
import { startProcess, type Cut, type Supervision } from '../process/process.ts'
import { whyNotDone } from '../chain/task-check.ts'
import { Verdict } from './verdict.ts'

/** The result of one turn of an agent. */
export interface TurnResult {
  readonly outcome: Outcome
  /** The outcome without regard to the marker. */
  readonly unmarked: Outcome
  readonly outputBytes: number
  /** Absent if it did not exit by itself. */
  readonly exitCode?: number | undefined
  readonly refusal?: Refusal | undefined
  readonly usage?: Usage | undefined
  readonly lastWords: Words
}

/** What is specific to one turn. */
interface Turn {
  readonly place: Place
  readonly env: Record<string, string>
  /** What it may spend. */
  readonly left: Budget
  readonly stop: AbortSignal
  /** Queue and inbox of a native agent. */
  readonly queue?: QueueProvider | undefined
  /** How a native agent begins, if not with a new conversation. */
  readonly begin?: typeof beginNative | undefined
}

type Surroundings = Pick<Context, 'plan' | 'ports' | 'family' | 'spending'>

/** Starts an agent, decodes its output and passes it on. */
export function followAgent(
  launch: Launch,
  step: StepNode,
  turn: Turn,
  surroundings: Surroundings,
): { readonly pid?: number; readonly end: Promise<TurnResult> } {
  const { place } = turn
  const { ports, spending } = surroundings
  const verdict = new Verdict()
  const purse = spending.open(place)
  const { timeoutMs, idleMs, grace } = step.policy
  const watch = {
    grace,
    limits: { timeoutMs, idleMs, budget: purse.spent },
    stop: turn.stop,
    force: ports.force,
    enough: Promise.race([
      markerToBelieve(verdict.marker, step, place, surroundings),
      verdict.blocked,
    ]),
  }
  const started =
    launch.kind === 'loop'
      ? startLoop(launch, step, { ...turn, tokens: () => purse.tokensLeft() }, surroundings, {
          ...watch,
          take: (fact) => listener.hearFact(fact),
        })
      : start(launch, step, turn, surroundings, {
          ...watch,
          take: (stream, bytes) => listener.hear(stream, bytes),
        })
  // Created while the agent starts: no output can have arrived yet.
  const listener = new Listener(launch, place, verdict, ports, (usage) => purse.look(usage))
  const over = started.over.finally(() => {
    listener.close()
    purse.close()
  })
  const end = over.then((exit) => {
    listener.end()
    const { usage } = verdict
    const { outputBytes, lastWords } = listener
    const unmarked = verdict.unmarked(exit)
    const exitCode = exit?.kind === 'exited' ? exit.code : undefined
    const [outcome, refusal] = [verdict.outcome(exit), verdict.refusal(exit)]
    return { outcome, exitCode, outputBytes, refusal, usage, unmarked, lastWords }
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
  { env }: Turn,
  { family }: Surroundings,
  watch: Omit<Supervision, 'cwd' | 'env'>,
): Started {
  const { pid, finished } = startProcess(launch, { ...watch, cwd, env: { ...env, ...launch.env } })
  return { pid, over: family.whileAlive(pid, finished) }
}

interface Counted {
  readonly tokens: Allowance['tokensLeft']
}

function startLoop(
  launch: LoopLaunch,
  step: StepNode,
  { place, env, left, tokens, queue, begin: beginTurn = beginNative }: Turn & Counted,
  { ports, family }: Surroundings,
  watch: LoopSupervision,
): Started {
  const { costUsd } = left
  const limits = { ...(costUsd === undefined ? {} : { costUsd }), tokens }
  const provider = launch.turn.queue === undefined ? undefined : queue
  const turn = { step, place, env, left: limits, queue: provider, ports, family }
  const begin = (hands: LoopDelivery): AsyncIterable<Fact> => beginTurn(launch, turn, hands)
  return { over: followLoop(begin, watch) }
}

/** Settles at a marker, unless the marker will be refused: then the agent keeps working. */
async function markerToBelieve(
  marker: Promise<void>,
  step: StepNode,
  { iteration }: Place,
  surroundings: Surroundings,
): Promise<void> {
  await marker
  const lack = await whyNotDone(step, iteration, surroundings)
  if (lack !== undefined) await new Promise(() => undefined)
}
