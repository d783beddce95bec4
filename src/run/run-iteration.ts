import { UserError } from '../base/errors.ts'
import type { Decoder, Fact, Launch } from '../engines/engine.ts'
import type { Outcome, Refusal } from '../events/schema.ts'
import { makeLaunch } from '../plan/launch.ts'
import { builtInVariables, type Plan, type StepNode } from '../plan/plan.ts'
import { SpawnError, startChild, type Child } from './child.ts'
import { endProcesses, reapAdopted, treeOf } from './family.ts'
import { firstOf } from './first-of.ts'
import type { Pipe } from './pipe.ts'
import { stopSignalOf, type Ports } from './ports.ts'

/** How long a pipe is read after its agent has gone, for what other holders of it still write. */
const LINGER_MS = 1000
/** The same once the run was told to stop: what the agent itself said is in the pipe already. */
const STOPPED_LINGER_MS = 100
/** How long the last words may take to be shown once the run was told to stop. */
const LAST_WORDS_MS = 1000

/** Starts the agent once with a fresh context, watches it until it is gone, and says how it ended. */
export async function runIteration(
  step: StepNode,
  iteration: number,
  plan: Plan,
  ports: Ports,
): Promise<Outcome> {
  const place = { scope: [step.id, `i${iteration}`], step: step.number, iteration }
  const began = performance.now()
  const watch = new Watch()
  let outcome: Outcome
  try {
    const values = builtInVariables(plan.run, step, iteration)
    const { launch, prompt } = makeLaunch(step, values, ports.readPrompt)
    const child = startChild(launch, plan.cwd, environment(step, iteration, plan, ports, launch))
    ports.emit({
      type: 'iteration_started',
      ...place,
      pid: child.pid,
      ...(ports.verbose ? { argv: [...launch.argv] } : {}),
      ...(prompt === undefined ? {} : { promptFrom: prompt.from }),
    })
    const stream = (name: 'out' | 'err') =>
      pump(child[name], launch.decode(name), watch, (bytes) =>
        watch.isOver ? undefined : ports.output({ ...place, stream: name, bytes }),
      )
    outcome = await follow(child, [stream('out'), stream('err')], watch, step, ports)
    if (ports.ownsDescendants) reapAdopted(child.pid)
  } catch (error) {
    if (!(error instanceof UserError || error instanceof SpawnError)) throw error
    ports.emit({ type: 'iteration_started', ...place })
    outcome = { kind: 'spawn_failed', error: error.message }
  }
  if (watch.refusal !== undefined) {
    ports.emit({ type: 'marker_refused', ...place, why: watch.refusal })
  }
  watch.isOver = true
  const ms = Math.round(performance.now() - began)
  ports.emit({ type: 'iteration_ended', ...place, outcome, ms, outputBytes: watch.bytes })
  return outcome
}

function environment(
  step: StepNode,
  iteration: number,
  plan: Plan,
  ports: Ports,
  launch: Launch,
): Record<string, string> {
  const outer = ports.env['FORKHESTRA_RUN_PATH']
  return {
    ...ports.env,
    ...launch.env,
    FORKHESTRA_RUN_ID: plan.run,
    FORKHESTRA_RUN_PATH: outer ? `${outer}:${plan.run}` : plan.run,
    FORKHESTRA_STEP: String(step.number),
    FORKHESTRA_AGENT: step.agent.name,
    FORKHESTRA_ITERATION: String(iteration),
    FORKHESTRA_MAX_ITERATIONS: String(step.loop ?? 1),
  }
}

/** What the streams of one iteration have told so far. */
class Watch {
  /** After a stop a stream may be left behind in the middle of a chunk; it is not listened to. */
  isOver = false
  bytes = 0
  refusal: Refusal | undefined
  readonly #marker = Promise.withResolvers<void>()
  hasMarker = false

  get marker(): Promise<void> {
    return this.#marker.promise
  }

  take(facts: readonly Fact[]): void {
    for (const fact of facts) {
      if (fact.type === 'marker_refused') this.refusal ??= fact.why
      else {
        this.hasMarker = true
        this.#marker.resolve()
      }
    }
  }
}

/** Hands one stream on, byte for byte, as fast as it is taken. */
async function pump(
  pipe: Pipe,
  decoder: Decoder | undefined,
  watch: Watch,
  output: (bytes: Uint8Array) => void | Promise<void>,
): Promise<void> {
  for (;;) {
    const bytes = await pipe.read()
    if (bytes === undefined) break
    watch.bytes += bytes.length
    if (decoder !== undefined) watch.take(decoder.push(bytes))
    await output(bytes)
  }
  if (decoder !== undefined) watch.take(decoder.end())
}

/** Waits for the end of the agent and of what it says. */
async function follow(
  child: Child,
  streams: readonly Promise<void>[],
  watch: Watch,
  step: StepNode,
  ports: Ports,
): Promise<Outcome> {
  await waitForExit(child, watch, step, ports)
  await drain(child, Promise.all(streams), ports.stop)
  await Promise.all([child.out.close(), child.err.close()])
  if (watch.hasMarker) return { kind: 'marker' }
  if (ports.stop.aborted) return { kind: 'interrupted' }
  return child.exited
}

/** Reads what the agent said before it went, and what others that hold its pipes say for a while. */
async function drain(child: Child, said: Promise<unknown>, stop: AbortSignal): Promise<void> {
  let cause: 'said' | 'stop' | 'late' = await firstOf({ said, stop, late: LINGER_MS })
  if (cause === 'stop') cause = await firstOf({ said, late: STOPPED_LINGER_MS })
  if (cause === 'late') {
    await Promise.all([child.out.finish(), child.err.finish()])
    // A slow reader of ours may take its time with the rest, unless nobody wants it any more.
    cause = await firstOf({ said, stop })
    if (cause === 'stop') cause = await firstOf({ said, late: LAST_WORDS_MS })
  }
  if (cause === 'said') await said
}

/** Returns when the agent is gone, or when it has had its time after a stop. */
async function waitForExit(
  child: Child,
  watch: Watch,
  step: StepNode,
  ports: Ports,
): Promise<void> {
  const { stop, force } = ports
  const exit = child.exited
  let cause: 'exit' | 'marker' | 'stop' | 'late' = await firstOf({
    exit,
    marker: watch.marker,
    stop,
  })
  if (cause === 'marker') cause = await firstOf({ exit, stop, late: step.grace.markerMs })
  if (cause === 'late') {
    await endProcesses(treeOf(child.pid), force)
    await firstOf({ exit, stop })
  }
  if (cause === 'stop') {
    child.signal(stopSignalOf(stop))
    await firstOf({ exit, late: step.grace.termMs, force })
  }
}
