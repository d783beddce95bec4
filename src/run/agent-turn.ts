import { errorText, UserError } from '../base/errors.ts'
import type { FileRead, Launch } from '../engines/engine.ts'
import type { Outcome } from '../events/schema.ts'
import { stepAt } from '../events/state.ts'
import { makeLaunch } from '../plan/launch.ts'
import { builtInVariables, type StepNode } from '../plan/plan.ts'
import type { Budget } from '../plan/policy.ts'
import { makeReader } from '../prompt/read-files.ts'
import { FilesError, SpawnError } from './child.ts'
import type { Context } from './context.ts'
import { queueServer, stepEnvironment } from './environment.ts'
import { failureToMend } from './failure-to-mend.ts'
import { followAgent, type Turned } from './follow-agent.ts'
import type { Place } from './place.ts'
import type { Ports } from './ports.ts'

/** Starts the agent and watches it until it is gone. One that cannot be started is an outcome, too. */
export async function takeTurn(step: StepNode, place: Place, context: Context): Promise<Turned> {
  const { plan, ports, queues, spending } = context
  try {
    const state = ports.state()
    const feedback = stepAt(state, step.number).feedback ?? failureToMend(step, plan, state)
    const values = builtInVariables(plan.run, step, place.iteration)
    const readFile = readerFor(step, (text) => ports.emit({ type: 'warning', text }))
    const queue = queueServer(plan.run, ports)
    let left: Budget = {}
    const promise = (mayQueue: boolean) => {
      left = spending.promise(step, place, { mayQueue })
      return left.costUsd
    }
    const extra = { feedback, promise, readFile, queue }
    const { launch, prompt, phases } = makeLaunch(step, values, ports.readPrompt, extra)
    await queues.beginTurn(step, phases)
    const source =
      prompt === undefined ? {} : { prompt: prompt.source, ...keepPrompt(prompt.text, ports) }
    const env = stepEnvironment(step, place.iteration, context)
    const following = { place, env, left, stop: ports.stop, queue: queues.door() }
    return await followAnyWay(launch, ports, (way, isFirst) => {
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
    return { outcome, unmarked: outcome, outputBytes: 0, said: { text: '' } }
  }
}

/** Where the program does not know the way in which it was called, another way is gone. */
export async function followAnyWay(
  launch: Launch,
  { emit, stop }: Ports,
  follow: (launch: Launch, isFirst: boolean) => Promise<Turned>,
): Promise<Turned> {
  const warn = (why: string) =>
    emit({ type: 'warning', text: `${why}; the files of /read stand in the prompt instead` })
  if (launch.kind === 'loop') return follow(launch, true)
  let turned: Turned
  try {
    turned = await follow(launch, true)
  } catch (error) {
    const instead = error instanceof FilesError ? launch.instead?.(true) : undefined
    if (instead === undefined) throw error
    warn(errorText(error))
    return follow(instead, true)
  }
  const hasFailed = turned.outcome.kind === 'exited' && turned.outcome.code !== 0
  const instead = hasFailed && !stop.aborted ? launch.instead?.() : undefined
  if (instead === undefined) return turned
  warn('claude did not take the conversation that was begun for it')
  return follow(instead, false)
}

/** Reads what one prompt lets its agent read; what cannot be read is told to people, too. */
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
