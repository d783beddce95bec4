import { errorText, UserError } from '../../base/errors.ts'
import { printable } from '../../base/terminal/printable.ts'
import type { FileRead, Launch } from '../../engines/engine.ts'
import type { Outcome } from '../../records/events/schema.ts'
import { stepAt, type RunState } from '../../records/events/state.ts'
import { makeLaunch } from '../../chain/plan/launch.ts'
import { builtInVariables, stepsOf, type Plan, type StepNode } from '../../chain/plan/plan.ts'
import type { Budget } from '../../chain/plan/policy.ts'
import { makeReader } from '../../chain/prompts/read-files.ts'
import { FilesError, SpawnError } from '../process/child.ts'
import type { Context } from '../chain/context.ts'
import { queueServer, stepEnvironment } from './environment.ts'
import { followAgent, type TurnResult } from './follow-agent.ts'
import type { Place } from '../chain/place.ts'
import type { Ports } from '../chain/ports.ts'

/** Starts the agent of a step and waits for its end. A failed start is an outcome as well. */
export async function takeTurn(
  step: StepNode,
  place: Place,
  context: Context,
): Promise<TurnResult> {
  const { plan, ports, queues, spending } = context
  try {
    const state = ports.state()
    const feedback = stepAt(state, step.number).feedback ?? failureToFix(step, plan, state)
    const values = builtInVariables(plan.run, step, place.iteration)
    const readFile = readerFor(step, (text) => ports.emit({ type: 'warning', text }))
    const queue = queueServer(plan.run, ports)
    let left: Budget = {}
    // One that has used up its half without queueing anything needs the rest itself.
    const { lastOutcome } = stepAt(state, step.number)
    const isReserved = lastOutcome?.kind !== 'budget' || ports.queue?.isThere() === true
    const promise = (mayQueue: boolean) => {
      left = spending.promise(step, place, { mayQueue: mayQueue && isReserved })
      return left.costUsd
    }
    const extra = { feedback, promise, readFile, queue }
    const { launch, prompt, phases } = makeLaunch(step, values, ports.readPrompt, extra)
    await queues.beginTurn(step, phases)
    const source =
      prompt === undefined ? {} : { prompt: prompt.source, ...keepPrompt(prompt.text, ports) }
    const env = stepEnvironment(step, place.iteration, context)
    const following = { place, env, left, stop: ports.stop, queue: queues.provider() }
    return await followLaunch(launch, ports, (way, isFirst) => {
      const { pid, end } = followAgent(way, step, following, context)
      const argv = [...way.argv]
      const process = pid === undefined ? {} : { pid }
      if (isFirst) ports.emit({ type: 'iteration_started', ...place, ...process, argv, ...source })
      return end
    })
  } catch (error) {
    if (!(error instanceof UserError || error instanceof SpawnError)) throw error
    ports.emit({ type: 'iteration_started', ...place })
    const hint = error instanceof UserError ? error.hint : undefined
    const advice = hint === undefined ? {} : { hint }
    const outcome: Outcome = { kind: 'spawn_failed', error: error.message, ...advice }
    return { outcome, unmarked: outcome, outputBytes: 0, lastWords: { text: '' } }
  }
}

/** Falls back to another launch if the program does not support the first one. */
export async function followLaunch(
  launch: Launch,
  { emit, stop }: Ports,
  follow: (launch: Launch, isFirst: boolean) => Promise<TurnResult>,
): Promise<TurnResult> {
  const warn = (why: string) =>
    emit({ type: 'warning', text: `${why}; the files of /read are in the prompt instead` })
  if (launch.kind === 'loop') return follow(launch, true)
  let turned: TurnResult
  try {
    turned = await follow(launch, true)
  } catch (error) {
    const instead = error instanceof FilesError ? launch.fallback?.(true) : undefined
    if (instead === undefined) throw error
    warn(errorText(error))
    return follow(instead, true)
  }
  const hasFailed = turned.outcome.kind === 'exited' && turned.outcome.code !== 0
  const instead = hasFailed && !stop.aborted ? launch.fallback?.() : undefined
  if (instead === undefined) return turned
  warn('claude did not accept the prepared conversation')
  return follow(instead, false)
}

/** Reads the files that /read names; a file that cannot be read is also a warning. */
export function readerFor(
  { cwd, reading = {} }: StepNode,
  warn: (text: string) => void,
): (path: string) => FileRead | undefined {
  let read: ReturnType<typeof makeReader> | undefined
  return (path) => {
    read ??= makeReader({ cwd, ...reading })
    const answer = read(path)
    if ('as' in answer) return undefined
    if (!answer.ok) warn(`/read: ${answer.error}`)
    return { path, ...answer }
  }
}

export function keepPrompt(text: string, ports: Ports): { promptHash: string } {
  const promptHash = Bun.CryptoHasher.hash('sha256', text, 'hex')
  ports.keepPrompt(promptHash, text)
  return { promptHash }
}

/** For the prompt of a recovery agent: which step failed, and why. */
function failureToFix({ number }: StepNode, { root }: Plan, state: RunState): string | undefined {
  const failed = stepsOf(root).find(
    ({ policy: { onFail } }) => onFail.kind === 'run' && onFail.step === number,
  )
  if (failed === undefined) return undefined
  const { reason, detail, iterations, feedback } = stepAt(state, failed.number)
  // An agent may have printed NUL bytes, which no argument can contain.
  const words = detail === undefined ? '' : `, ${printable(detail)}`
  return [
    `[forkhestra] Step ${failed.number} (${failed.name ?? failed.agent.name}) failed after`,
    `${iterations} ${iterations === 1 ? 'iteration' : 'iterations'}: ${reason}${words}.`,
    ...(feedback === undefined ? [] : [feedback]),
  ].join(' ')
}
