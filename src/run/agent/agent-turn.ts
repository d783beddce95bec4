import { counted } from '../../base/amounts.ts'
import { UserError } from '../../base/errors.ts'
import { printable } from '../../base/terminal/printable.ts'
import type { Outcome } from '../../records/events/schema.ts'
import { stepAt, type RunState } from '../../records/events/state.ts'
import { makeLaunch } from '../../chain/plan/launch.ts'
import { builtInVariables, stepsOf, type Plan, type StepNode } from '../../chain/plan/plan.ts'
import type { Budget } from '../../chain/plan/policy.ts'
import { makeReader } from '../../chain/prompts/read-files.ts'
import type { Acting } from '../../queue/task.ts'
import type { QueueProvider } from '../../queue/tools/provider.ts'
import { agentNameOf } from '../agent-names.ts'
import type { Context } from '../context.ts'
import { warnerFor, type Place } from '../place.ts'
import { SpawnError } from '../process/child.ts'
import { queueServer, stepEnvironment } from '../process/environment.ts'
import { followAgent, type TurnResult } from './follow-agent.ts'

/** The run, as a step sees it: with the queues that the step's agent needs. */
interface StepRun extends Context {
  readonly branch?: { readonly feedback: string | undefined }
  readonly queues: {
    beginTurn(step: StepNode, phases: ReturnType<typeof makeLaunch>['phases']): Promise<void>
    provider(step: StepNode): QueueProvider | undefined
  }
}

/** Starts a step's agent and waits for it to end. A failed start is also an outcome. */
export async function takeTurn(step: StepNode, place: Place, run: StepRun): Promise<TurnResult> {
  const { plan, ports, queues, spending } = run
  try {
    const state = ports.state()
    const unmerged = run.branch?.feedback
    const { lastOutcome, feedback = unmerged ?? failureToFix(step, plan, state) } = stepAt(
      state,
      step,
    )
    // If the last attempt spent its share without queueing tasks, this one may use the rest.
    const isReserved = lastOutcome?.kind !== 'budget' || ports.queue?.hasStore() === true
    const prepared = prepareTurn(step, place, run, {
      feedback,
      reserve: (mayQueue) => spending.reserve(step, place, { mayQueue: mayQueue && isReserved }),
    })
    const { launch, prompt, promptHash, phases, left } = prepared
    await queues.beginTurn(step, phases)
    const source = prompt === undefined ? {} : { prompt: prompt.source, promptHash: promptHash() }
    const env = stepEnvironment(step, place.iteration, run)
    const turn = { place, env, left, stop: ports.stop, queue: queues.provider(step) }
    return await followAgent(launch, step, turn, run, (started) =>
      ports.emit({ type: 'iteration_started', ...place, ...started, ...source }),
    )
  } catch (error) {
    if (!(error instanceof UserError || error instanceof SpawnError)) throw error
    ports.emit({ type: 'iteration_started', ...place })
    const hint = error instanceof UserError ? error.hint : undefined
    const advice = hint === undefined ? {} : { hint }
    const outcome: Outcome = { kind: 'spawn_failed', error: error.message, ...advice }
    return { outcome, unmarked: outcome, outputBytes: 0, finalMessage: { text: '' } }
  }
}

type LaunchOptions = NonNullable<Parameters<typeof makeLaunch>[3]>

interface TurnOptions extends Pick<LaunchOptions, 'feedback' | 'mode' | 'introduction'> {
  /** Reserves what the agent may spend. */
  readonly reserve: (mayQueue: boolean) => Budget
  /** The task of a sub-agent. */
  readonly acting?: Acting
  readonly readPrompt?: Context['ports']['readPrompt']
}

/** Creates the launch of an agent and reserves its share of the budgets. */
export function prepareTurn(
  step: StepNode,
  place: Place,
  { plan, ports }: Context,
  { reserve, acting, readPrompt = ports.readPrompt, ...options }: TurnOptions,
) {
  let left: Budget = {}
  const iteration = acting === undefined ? place.iteration : 1
  const values = builtInVariables(plan, step, iteration)
  const made = makeLaunch(step, values, readPrompt, {
    ...options,
    queue: queueServer(plan.run, ports, acting ?? agentNameOf(plan, step)),
    readFile: readerFor(step, warnerFor(place, ports)),
    promise: (mayQueue) => {
      left = reserve(mayQueue)
      return left.costUsd
    },
  })
  const promptHash = () => {
    const text = made.prompt?.text ?? ''
    const hash = Bun.CryptoHasher.hash('sha256', text, 'hex')
    ports.keepPrompt(hash, text)
    return hash
  }
  return { ...made, left, promptHash }
}

/** Reads the files that /read names; a file that cannot be read is also a warning. */
function readerFor(
  { cwd, reading = {} }: StepNode,
  warn: (text: string) => void,
): NonNullable<LaunchOptions['readFile']> {
  const read = makeReader({ cwd, ...reading })
  return (path) => {
    const answer = read(path)
    if ('as' in answer) return undefined
    if (!answer.ok) warn(`/read: ${answer.error}`)
    return { path, ...answer }
  }
}

/** For the prompt of a recovery agent: which step failed, and why. */
function failureToFix({ number }: StepNode, { root }: Plan, state: RunState): string | undefined {
  const failed = stepsOf(root).find(
    ({ policy: { onFail } }) => onFail.kind === 'run' && onFail.step === number,
  )
  if (failed === undefined) return undefined
  const { reason, detail, iterations, feedback } = stepAt(state, failed)
  // An agent may have printed NUL bytes, which no argument can contain.
  const suffix = detail === undefined ? '' : `, ${printable(detail)}`
  return [
    `[forkhestra] Step ${failed.number} (${failed.name ?? failed.agent.name}) failed after`,
    `${counted(iterations, 'iteration')}: ${reason}${suffix}.`,
    ...(feedback === undefined ? [] : [feedback]),
  ].join(' ')
}
