import { errorText } from '../../base/errors.ts'
import type { Launch } from '../../engines/engine.ts'
import type { Outcome, Refusal, Usage } from '../../records/events/schema.ts'
import type { StepNode } from '../../chain/plan/plan.ts'
import type { Budget } from '../../chain/plan/policy.ts'
import type { QueueProvider } from '../../queue/tools/provider.ts'
import type { Context } from '../context.ts'
import type { Place } from '../place.ts'
import { whyNotDone } from '../policy/task-check.ts'
import { FilesError, type Exit } from '../process/child.ts'
import { endWithTree } from '../process/run-processes.ts'
import { startProcess, type Cut } from '../process/process.ts'
import type { FinalText } from './final-message.ts'
import { Listener } from './listener.ts'
import { followLoop } from './loop.ts'
import { beginNative } from './native-turn.ts'
import { Verdict } from './verdict.ts'

export interface TurnResult {
  readonly outcome: Outcome
  /** The outcome, ignoring the marker. */
  readonly unmarked: Outcome
  readonly outputBytes: number
  /** Absent if it did not exit on its own. */
  readonly exitCode?: number | undefined
  readonly refusal?: Refusal | undefined
  readonly usage?: Usage | undefined
  readonly finalMessage: FinalText
}

/** What is specific to one turn. */
interface AgentTurn {
  readonly place: Place
  readonly env: Record<string, string>
  /** Its spending limits. */
  readonly left: Budget
  readonly stop: AbortSignal
  /** Ends all processes of the agent, while the run continues. */
  readonly cancel?: AbortSignal
  /** Queue and inbox of a native agent. */
  readonly queue?: QueueProvider | undefined
  /** How a native agent starts, if not with a new conversation. */
  readonly begin?: typeof beginNative | undefined
}

type OnStart = (started: { readonly pid?: number; readonly argv: string[] }) => unknown

/** Runs an agent until it ends; falls back to another launch if a CLI needs one. */
export async function followAgent(
  launch: Launch,
  step: StepNode,
  turn: AgentTurn,
  context: Context,
  onStart: OnStart,
): Promise<TurnResult> {
  const { emit, stop } = context.ports
  const warn = (why: string) =>
    emit({ type: 'warning', text: `${why}; the files of /read are in the prompt instead` })
  const fallback = (isUnwritten?: boolean) =>
    launch.kind === 'loop' ? undefined : launch.fallback?.(isUnwritten)
  let turned: TurnResult
  try {
    turned = await follow(launch, step, turn, context, onStart)
  } catch (error) {
    const instead = error instanceof FilesError ? fallback(true) : undefined
    if (instead === undefined) throw error
    warn(errorText(error))
    return follow(instead, step, turn, context, onStart)
  }
  const hasFailed = turned.outcome.kind === 'exited' && turned.outcome.code !== 0
  const instead = hasFailed && !stop.aborted ? fallback() : undefined
  if (instead === undefined) return turned
  warn('claude did not accept the prepared conversation')
  return follow(instead, step, turn, context, () => undefined)
}

/** Starts an agent, decodes its output and passes it on. */
async function follow(
  launch: Launch,
  step: StepNode,
  turn: AgentTurn,
  context: Context,
  onStart: OnStart,
): Promise<TurnResult> {
  const { place, stop, cancel } = turn
  const { ports, processes, spending } = context
  const { timeoutMs, idleMs, grace } = step.policy
  const { force } = ports
  const verdict = new Verdict()
  const allowance = spending.open(place)
  const listener = new Listener(launch, place, verdict, ports, (usage) => allowance.update(usage))
  const enough = Promise.race([
    acceptedMarker(verdict.marker, step, place, context),
    verdict.blocked,
  ])
  const limits = { timeoutMs, idleMs, budget: allowance.spent }
  const watch = { grace, limits, stop, force, enough }
  const argv = [...launch.argv]
  let exit: Exit | Cut | undefined
  try {
    if (launch.kind === 'loop') {
      onStart({ argv })
      const { begin = beginNative, left, env } = turn
      const { costUsd } = left
      const tokens = () => allowance.tokensLeft()
      const limited = { ...(costUsd === undefined ? {} : { costUsd }), tokens }
      const queue = launch.turn.queue === undefined ? undefined : turn.queue
      const native = { step, place, env, left: limited, queue, ports, processes }
      const take = listener.takeFact.bind(listener)
      exit = await followLoop((delivery) => begin(launch, native, delivery), { ...watch, take })
    } else {
      const env = { ...turn.env, ...launch.env }
      const take = listener.takeOutput.bind(listener)
      const { pid, finished } = startProcess(launch, { ...watch, take, cwd: step.cwd, env })
      onStart({ pid, argv })
      const over = cancel === undefined ? finished : endWithTree(pid, finished, cancel, force)
      exit = await processes.whileAlive(over)
    }
  } finally {
    listener.close()
    allowance.close()
  }
  const finalMessage = listener.end()
  return {
    outcome: verdict.outcome(exit),
    unmarked: verdict.unmarked(exit),
    refusal: verdict.refusal(exit),
    exitCode: exit?.kind === 'exited' ? exit.code : undefined,
    outputBytes: listener.outputBytes,
    usage: verdict.usage,
    finalMessage,
  }
}

/** Settles when the agent prints a marker, unless the marker will be refused: then the agent keeps working. */
async function acceptedMarker(
  marker: Promise<void>,
  step: StepNode,
  { iteration }: Place,
  context: Context,
): Promise<void> {
  await marker
  const problem = await whyNotDone(step, iteration, context)
  if (problem !== undefined) await new Promise(() => undefined)
}
