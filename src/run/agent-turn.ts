import { countTokens } from '../events/spent.ts'
import { tokenWords } from '../base/amounts.ts'
import { durationWords } from '../base/durations.ts'
import { UserError } from '../base/errors.ts'
import type { Fact, Launch } from '../engines/engine.ts'
import type { Outcome, Refusal, Usage } from '../events/schema.ts'
import { makeLaunch } from '../plan/launch.ts'
import { builtInVariables, type StepNode } from '../plan/plan.ts'
import type { Budget } from '../plan/policy.ts'
import { stepAt } from '../events/state.ts'
import { failureToMend } from './failure-to-mend.ts'
import { leftOver } from './budget.ts'
import { SpawnError } from './child.ts'
import type { Context } from './context.ts'
import { stepEnvironment } from './environment.ts'
import type { Place } from './place.ts'
import type { Ports } from './ports.ts'
import { startProcess } from './process.ts'
import { hasReadyTasks } from './task-check.ts'
import { Verdict } from './verdict.ts'

/** How long a marker waits for the end of its line: some agents end without one. */
const SILENCE_MS = 5000

/** What starting an agent once has come to. */
export interface Turned {
  readonly outcome: Outcome
  /** What it would have come to without its marker. */
  readonly unmarked: Outcome
  readonly outputBytes: number
  readonly refusal?: Refusal | undefined
  readonly usage?: Usage | undefined
}

/** Starts the agent and watches it until it is gone. One that cannot be started is an outcome, too. */
export function takeTurn(step: StepNode, place: Place, context: Context): Promise<Turned> {
  const { plan, ports } = context
  try {
    const state = ports.state()
    const left = leftOver(step, plan, state)
    const feedback = stepAt(state, step.number).feedback ?? failureToMend(step, plan, state)
    const values = builtInVariables(plan.run, step, place.iteration)
    const extra = { feedback, maxCostUsd: left.costUsd }
    const { launch, prompt } = makeLaunch(step, values, ports.readPrompt, extra)
    const { pid, end } = followAgent(launch, step, place, left, context)
    const source =
      prompt === undefined ? {} : { prompt: prompt.source, ...keep(prompt.text, ports) }
    ports.emit({ type: 'iteration_started', ...place, pid, argv: [...launch.argv], ...source })
    return end
  } catch (error) {
    if (!(error instanceof UserError || error instanceof SpawnError)) throw error
    ports.emit({ type: 'iteration_started', ...place })
    const outcome: Outcome = { kind: 'spawn_failed', error: error.message }
    return Promise.resolve({ outcome, unmarked: outcome, outputBytes: 0 })
  }
}

function keep(prompt: string, { keepPrompt }: Ports): { promptHash: string } {
  const promptHash = new Bun.CryptoHasher('sha256').update(prompt).digest('hex')
  keepPrompt(promptHash, prompt)
  return { promptHash }
}

/** Starts the process of an agent; what it says goes to the decoders and to the outside. */
function followAgent(
  launch: Launch,
  step: StepNode,
  place: Place,
  left: Budget,
  context: Context,
): { readonly pid: number; readonly end: Promise<Turned> } {
  const { ports, family } = context
  const verdict = new Verdict()
  const purse = new Purse(left)
  const decoders = { out: launch.decode('out'), err: launch.decode('err') }
  let outputBytes = 0
  let isOver = false
  let silence: Timer | undefined
  const take = (facts: readonly Fact[]) => {
    verdict.take(facts)
    for (const fact of facts) tell(fact, place, ports)
    if (facts.length > 0) purse.look(verdict.usage)
  }
  const takeMarker = () => verdict.take([{ type: 'marker' }])
  const { timeoutMs, idleMs, grace } = step.policy
  const { pid, finished } = startProcess(launch, {
    cwd: step.cwd,
    env: { ...stepEnvironment(step, place.iteration, context), ...launch.env },
    grace,
    limits: { timeoutMs, idleMs, budget: purse.spent },
    stop: ports.stop,
    force: ports.force,
    enough: Promise.race([markerToBelieve(verdict.marker, step, ports), verdict.blocked]),
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
    purse.close()
  })
  const end = over.then((exit) => {
    for (const decoder of [decoders.out, decoders.err]) take(decoder?.end() ?? [])
    const { refusal, usage } = verdict
    const unmarked = verdict.unmarked(exit)
    return { outcome: verdict.outcome(exit), outputBytes, refusal, usage, unmarked }
  })
  return { pid, end }
}

/** Settles when an agent has said all: a marker that will not be believed does not end its work. */
async function markerToBelieve(
  marker: Promise<void>,
  step: StepNode,
  { tasks }: Ports,
): Promise<void> {
  await marker
  if (hasReadyTasks(step, tasks)) await new Promise(() => undefined)
}

/** What one iteration may spend; notices when it is empty. */
class Purse {
  readonly #controller = new AbortController()
  readonly #tokens: number | undefined
  readonly #timer: Timer | undefined

  constructor({ tokens, ms }: Budget) {
    this.#tokens = tokens
    if (ms === undefined) return
    const words = `time is over after another ${durationWords(ms)}`
    this.#timer = setTimeout(() => this.#controller.abort(words), Math.min(ms, 2 ** 31 - 1))
  }

  /** Aborts, with the words for it. */
  get spent(): AbortSignal {
    return this.#controller.signal
  }

  look(usage: Usage | undefined): void {
    if (this.#tokens === undefined || usage?.tokens === undefined) return
    const used = countTokens({ tokens: usage.tokens })
    if (used <= this.#tokens) return
    this.#controller.abort(`${tokenWords(used)} tokens, ${tokenWords(this.#tokens)} were left`)
  }

  close(): void {
    clearTimeout(this.#timer)
  }
}

/** What an agent says and does is an event; the rest is for the verdict. */
function tell(fact: Fact, place: Place, { emit }: Ports): void {
  if (fact.type === 'notice') emit({ type: 'warning', text: fact.text })
  if (fact.type === 'message' || fact.type === 'tool' || fact.type === 'limit') {
    emit({ ...place, ...fact })
  }
}
