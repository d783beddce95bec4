import { UserError } from '../base/errors.ts'
import { ownIdentity } from '../base/process-identity.ts'
import type { Launch } from '../engines/engine.ts'
import type { EventOf } from '../events/event.ts'
import type { Outcome, Refusal } from '../events/schema.ts'
import { makeLaunch } from '../plan/launch.ts'
import { builtInVariables, type StepNode } from '../plan/plan.ts'
import type { Fact } from '../engines/engine.ts'
import { SpawnError } from './child.ts'
import type { Context } from './context.ts'
import type { Tasks } from '../plan/tasks.ts'
import type { Ports } from './ports.ts'
import { hasReadyTasks } from './task-check.ts'
import { startProcess } from './process.ts'
import { Verdict } from './verdict.ts'

/** How long a marker waits for the end of its line: some agents end without one. */
const SILENCE_MS = 5000

/** Where in the run an iteration is. */
interface Place {
  readonly scope: string[]
  readonly step: number
  readonly iteration: number
  readonly attempt: number
}

/** What an iteration has come to. */
interface End {
  readonly outcome: Outcome
  readonly outputBytes: number
  readonly refusal?: Refusal | undefined
  readonly usage?: EventOf<'iteration_ended'>['usage']
  /** What it would have come to without its marker. */
  readonly unmarked?: Outcome
}

/** Starts the agent once with a fresh context, watches it until it is gone, and says how it ended. */
export async function runIteration(
  step: StepNode,
  iteration: number,
  context: Context,
): Promise<Outcome> {
  const { emit } = context.ports
  const place = { scope: [step.id, `i${iteration}`], step: step.number, iteration, attempt: 1 }
  const began = performance.now()
  const end = await startAgent(step, place, context)
  const { outcome, refusal } = judgeMarker(end, step, place, context)
  const { outputBytes, usage } = end
  if (refusal !== undefined) emit({ type: 'marker_refused', ...place, why: refusal })
  const ms = Math.round(performance.now() - began)
  const took = usage === undefined ? {} : { usage }
  emit({ type: 'iteration_ended', ...place, outcome, ms, outputBytes, ...took })
  return outcome
}

/** Whoever finishes tasks is done when none is ready, and not when he says so. */
function judgeMarker(
  end: End,
  step: StepNode,
  { iteration }: Place,
  { ports: { tasks } }: Context,
): Pick<End, 'outcome' | 'refusal'> {
  tasks.endIteration(step.number, iteration, end.outcome.kind)
  const isEarly = end.outcome.kind === 'marker' && hasReadyTasks(step, tasks)
  return isEarly ? { outcome: end.unmarked ?? end.outcome, refusal: 'tasks_ready' } : end
}

/** Settles when an agent has said all: a marker that will not be believed does not end its work. */
async function markerToBelieve(marker: Promise<void>, step: StepNode, tasks: Tasks): Promise<void> {
  await marker
  if (hasReadyTasks(step, tasks)) await new Promise(() => undefined)
}

/** An agent that cannot be started is an outcome, too. */
function startAgent(step: StepNode, place: Place, context: Context): Promise<End> {
  const { plan, ports } = context
  try {
    const values = builtInVariables(plan.run, step, place.iteration)
    const { launch, prompt } = makeLaunch(step, values, ports.readPrompt)
    const { pid, end } = followAgent(launch, step, place, context)
    const source = prompt === undefined ? {} : { prompt: prompt.source }
    ports.emit({ type: 'iteration_started', ...place, pid, argv: [...launch.argv], ...source })
    return end
  } catch (error) {
    if (!(error instanceof UserError || error instanceof SpawnError)) throw error
    ports.emit({ type: 'iteration_started', ...place })
    const outcome: Outcome = { kind: 'spawn_failed', error: error.message }
    return Promise.resolve({ outcome, outputBytes: 0 })
  }
}

/** Starts the process of an agent; what it says goes to the decoders and to the outside. */
function followAgent(
  launch: Launch,
  step: StepNode,
  place: Place,
  { plan, ports, family }: Context,
): { readonly pid: number; readonly end: Promise<End> } {
  const verdict = new Verdict()
  const decoders = { out: launch.decode('out'), err: launch.decode('err') }
  let outputBytes = 0
  let isOver = false
  let silence: Timer | undefined
  const take = (facts: readonly Fact[]) => {
    verdict.take(facts)
    for (const fact of facts) tell(fact, place, ports)
  }
  const takeMarker = () => verdict.take([{ type: 'marker' }])
  const { pid, finished } = startProcess(launch, {
    cwd: step.cwd,
    env: makeEnvironment(step, place.iteration, plan.run, { ...ports.env, ...launch.env }),
    grace: step.grace,
    stop: ports.stop,
    force: ports.force,
    enough: markerToBelieve(verdict.marker, step, ports.tasks),
    take(stream, bytes) {
      // After a stop a stream may be left behind in the middle of a chunk.
      if (isOver) return undefined
      outputBytes += bytes.length
      take(decoders[stream]?.push(bytes) ?? [])
      if (stream === 'out') {
        clearTimeout(silence)
        const isDone = decoders.out?.isDoneIfSilent === true
        silence = isDone ? setTimeout(takeMarker, SILENCE_MS) : undefined
      }
      const isTold = launch.isStructured === true && stream === 'out' ? { isTold: true } : {}
      return ports.output({ ...place, stream, bytes, ...isTold })
    },
  })
  const over = family.whileAlive(pid, finished).finally(() => {
    isOver = true
    clearTimeout(silence)
  })
  const end = over.then((exit) => {
    for (const decoder of [decoders.out, decoders.err]) take(decoder?.end() ?? [])
    const { refusal, usage } = verdict
    const unmarked = verdict.unmarked(exit)
    return { outcome: verdict.outcome(exit), outputBytes, refusal, usage, unmarked }
  })
  return { pid, end }
}

/** What an agent says and does is an event; the rest is for the verdict. */
function tell(fact: Fact, place: Place, { emit }: Ports): void {
  if (fact.type === 'notice') emit({ type: 'warning', text: fact.text })
  if (fact.type === 'message' || fact.type === 'tool' || fact.type === 'limit') {
    emit({ ...place, ...fact })
  }
}

function makeEnvironment(
  step: StepNode,
  iteration: number,
  run: string,
  env: Readonly<Record<string, string>>,
): Record<string, string> {
  const { FORKHESTRA_RUN_PATH: outer, FORKHESTRA_RUN_PROCESS: _, ...inherited } = env
  const identity = ownIdentity()
  return {
    ...inherited,
    PWD: step.cwd,
    FORKHESTRA_RUN_ID: run,
    ...(identity === undefined ? {} : { FORKHESTRA_RUN_PROCESS: identity }),
    FORKHESTRA_RUN_PATH: outer ? `${outer}:${run}` : run,
    FORKHESTRA_STEP: String(step.number),
    FORKHESTRA_AGENT: step.agent.name,
    FORKHESTRA_ITERATION: String(iteration),
    FORKHESTRA_MAX_ITERATIONS: String(step.loop ?? 1),
  }
}
