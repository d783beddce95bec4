import { awakeMs } from '../base/awake.ts'
import { asTrouble, UserError } from '../base/errors.ts'
import type { LoopLaunch } from '../engines/engine.ts'
import type { Outcome } from '../events/schema.ts'
import { stepAt } from '../events/state.ts'
import { isFailure } from '../events/step-state.ts'
import { makeLaunch } from '../plan/launch.ts'
import { builtInVariables, type StepNode } from '../plan/plan.ts'
import type { Budget } from '../plan/policy.ts'
import { isBlank } from '../prompt/choose.ts'
import { hasSetup } from '../prompt/read-phases.ts'
import { keepPrompt, readerFor } from './agent-turn.ts'
import { leftOver } from './budget.ts'
import { refuseTasks } from './chat-tasks.ts'
import { chatTurn, keepReads } from './chat-turn.ts'
import type { Context } from './context.ts'
import { queueServer, stepEnvironment } from './environment.ts'
import { followAgent } from './follow-agent.ts'
import { iterationPlace, placeOf, type Place } from './place.ts'
import { hasTeardown, setUpAt, tearDownAt, type PhaseDone, type Phases } from './prompt-tasks.ts'
import type { Person } from './run-chat.ts'

/** What was said, read as a prompt. */
interface Spoken {
  readonly launch: LoopLaunch
  readonly phases: Phases
  readonly place: Place
  readonly left: Budget
  readonly prompt: Parameters<typeof keepPrompt>[0]
}

/** How soon a chat ends that is asked to. */
const LOOK_MS = 500

/** The turns of a chat: each is an iteration of its step, and goes on where the last one ended. */
export class ChatTurns {
  readonly #context: Omit<Context, 'progress'>
  readonly #step: StepNode
  readonly #person: Person
  /** Of what was said in this session; only what the agent is asked is an iteration. */
  #count = 0
  failures = 0

  constructor(context: Omit<Context, 'progress'>, step: StepNode, person: Person) {
    this.#context = context
    this.#step = step
    this.#person = person
  }

  /** Until nothing more is said. */
  async talk(): Promise<void> {
    const { stop, control } = this.#context.ports
    const asked = new AbortController()
    const looking = setInterval(() => control.isStopAsked && asked.abort(), LOOK_MS)
    const end = AbortSignal.any([stop, asked.signal])
    try {
      for (let text = await this.#person.next(end); text !== undefined;) {
        await this.#take(text)
        text = end.aborted ? undefined : await this.#person.next(end)
      }
    } finally {
      clearInterval(looking)
    }
  }

  async #take(text: string): Promise<void> {
    const stop = AbortSignal.any([this.#person.turnBegins(), this.#context.ports.stop])
    let outcome: Outcome | undefined
    try {
      outcome = await this.#turn(text, stop)
    } catch (error) {
      this.#person.refused(asTrouble(error))
      this.failures += 1
    }
    if (outcome !== undefined && isBad(outcome)) this.failures += 1
    this.#person.turnEnds(outcome)
  }

  async #turn(text: string, stop: AbortSignal): Promise<Outcome | undefined> {
    const spoken = this.#read(text)
    const { launch, phases, place } = spoken
    this.#count += 1
    const { queue } = this.#context.ports
    try {
      if (queue !== undefined) await refuseTasks(phases, this.#step, queue)
      if (hasSetup(phases)) await this.#doPhase('setup', spoken)
      if (isBlank(phases.content)) {
        if (launch.turn.reads?.length)
          await keepReads(launch, { ...this.#turnOf(spoken), left: {} })
        return undefined
      }
      const outcome = await this.#ask(spoken, stop)
      const isSuccess = !isBad(outcome)
      if (hasTeardown(phases, isSuccess)) await this.#doPhase('teardown', spoken, isSuccess)
      return outcome
    } finally {
      this.#context.spending.told(place.scope)
    }
  }

  /** Refuses what cannot be understood, before any of it takes effect. */
  #read(text: string): Spoken {
    const { plan, ports, spending } = this.#context
    const step = { ...this.#step, prompt: [{ level: 'command line' as const, text: [text] }] }
    const broke = spending.spentBudget(step)
    if (broke !== undefined) {
      throw noBudget(plan.run, leftOver(step, plan, ports.state()), broke.detail)
    }
    const { iterations } = stepAt(ports.state(), step.number)
    const place = iterationPlace(step, ports.state(), iterations + 1, 1)
    const values = builtInVariables(plan.run, step, place.iteration)
    let left: Budget = {}
    const made = makeLaunch(step, values, ports.readPrompt, {
      mode: 'chat',
      queue: queueServer(plan.run, ports),
      readFile: readerFor(step, (warning) => ports.emit({ type: 'warning', text: warning })),
      promise: (mayQueue) => {
        left = spending.promise(step, place, { mayQueue })
        return left.costUsd
      },
    })
    const { launch, phases, prompt } = made
    if (launch.kind !== 'loop') throw new Error('no agent to talk to')
    return { launch, phases, place, left, prompt: prompt?.text ?? '' }
  }

  async #ask({ launch, place, left, prompt }: Spoken, stop: AbortSignal): Promise<Outcome> {
    const { ports } = this.#context
    const { promptHash } = keepPrompt(prompt, ports)
    const source = { level: 'command line' as const }
    const argv = [...launch.argv]
    ports.emit({ type: 'iteration_started', ...place, argv, prompt: source, promptHash })
    const began = awakeMs()
    const begin = chatTurn(this.#person)
    const following = { ...this.#turnOf({ place, left }), stop, begin }
    const turned = await followAgent(launch, this.#step, following, this.#context).end
    const { outcome, outputBytes, usage } = turned
    ports.emit({
      type: 'iteration_ended',
      ...place,
      outcome,
      ms: Math.round(awakeMs() - began),
      outputBytes,
      ...(usage === undefined ? {} : { usage }),
    })
    return outcome
  }

  #turnOf({ place, left }: Pick<Spoken, 'place' | 'left'>) {
    const { ports, family, queues } = this.#context
    const env = stepEnvironment(this.#step, place.iteration, this.#context)
    return { step: this.#step, place, env, left, queue: queues.door(), ports, family }
  }

  /** What is queued and started before the agent is asked, or queued after it. */
  async #doPhase(
    phase: 'setup' | 'teardown',
    { phases, place }: Spoken,
    isSuccess = true,
  ): Promise<void> {
    const { plan, ports, queues } = this.#context
    const id = [plan.run, ...place.scope, `t${this.#count}`, phase].join('.')
    const none: PhaseDone = { pushed: [], started: [], held: 0 }
    const done = await queues.door()?.use(
      'makes',
      ({ desk }) =>
        phase === 'setup' ? setUpAt(desk, phases, id) : tearDownAt(desk, phases, isSuccess, id),
      () => none,
    )
    if (done === undefined) throw new UserError('There is no record, and queues would be in it.')
    const { rounds } = stepAt(ports.state(), this.#step.number)
    const { refused, ...told } = done
    ports.emit({ type: 'phase_ended', ...placeOf(this.#step, rounds), phase, ...told })
    if (refused !== undefined) throw refused
  }
}

/** Whoever is stopped has not done what was asked for, either. */
function isBad(outcome: Outcome): boolean {
  return isFailure(outcome) || outcome.kind === 'interrupted' || outcome.kind === 'budget'
}

const LARGER = [
  ['costUsd', '--max-cost'],
  ['tokens', '--max-tokens'],
  ['ms', '--max-duration'],
] as const

function noBudget(run: string, left: Budget, detail = ''): UserError {
  const [, option] = LARGER.find(([name]) => left[name] === 0) ?? LARGER[0]
  return new UserError(
    `The budget of this chat is used up: ${detail}.`,
    `Go on with a larger one: forkhestra chat --resume ${run} ${option} …`,
  )
}
