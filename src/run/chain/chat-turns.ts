import { isBlank } from '../../chain/parse/prompt/parse-command.ts'
import { awakeMs } from '../../base/awake.ts'
import { asUserError, UserError } from '../../base/errors.ts'
import type { Fact, LoopLaunch } from '../../engines/engine.ts'
import type { Outcome } from '../../records/events/schema.ts'
import { stepAt } from '../../records/events/state.ts'
import { isFailure } from '../../records/events/step-state.ts'
import type { StepNode } from '../../chain/plan/plan.ts'
import type { Budget } from '../../chain/plan/policy.ts'
import { hasSetup, hasTeardown, readPhases, taskPlace } from '../../chain/prompts/read-phases.ts'
import { MAIN } from '../../queue/task.ts'
import { prepareTurn } from '../agent/agent-turn.ts'
import { stepEnvironment } from '../process/environment.ts'
import { followAgent } from '../agent/follow-agent.ts'
import type { LoopDelivery } from '../agent/loop.ts'
import { makeIo, type NativeTurn } from '../agent/native-turn.ts'
import type { OpenRun } from './open-run.ts'
import { currentPlace, iterationPlace, type Place } from '../place.ts'
import type { QueuePort } from '../ports.ts'
import type { Phases } from '../../chain/parse/prompt/phases.ts'
import { setUp, tearDown, type PhaseDone } from '../subagents/prompt-tasks.ts'

/** The user of a chat, as implemented by the front end. */
export interface Person {
  /** The next message; undefined if there is none. `stop` aborts when the chat has to end. */
  next(stop: AbortSignal): Promise<string | undefined>
  /** A turn begins; the signal aborts when the user interrupts it. */
  turnBegins(): AbortSignal
  /** Shows a piece of the answer. */
  hear(piece: string): void
  /** Discards the pieces of the current message: it is streamed again from its beginning. */
  restartAnswer(): void
  /** The turn is over; the outcome is undefined if the agent was not asked anything. */
  turnEnds(outcome: Outcome | undefined): void
  /** The message was invalid; nothing in it took effect. */
  refused(error: UserError): void
  /** No message follows; the run ends as soon as its sub-agents have ended. */
  leaves(): void
  /** Whether this many failed turns make the chat a failure. */
  hasFailed(failures: number): boolean
}

/** A message, read as a prompt. */
interface Spoken {
  readonly launch: LoopLaunch
  readonly phases: Phases
  readonly place: Place
  readonly left: Budget
  readonly promptHash: () => string
}

/** How often a chat checks whether it should stop. */
const POLL_MS = 500

/** The turns of a chat. Each is an iteration of its step and continues the same conversation. */
export class ChatTurns {
  readonly #run: OpenRun
  readonly #step: StepNode
  readonly #person: Person
  /** Messages of this session; only those passed to the agent are iterations. */
  #count = 0
  failures = 0

  constructor(run: OpenRun, step: StepNode, person: Person) {
    this.#run = run
    this.#step = step
    this.#person = person
  }

  /** Runs turns until the user leaves. */
  async talk(): Promise<void> {
    const { stop, control } = this.#run.ports
    const asked = new AbortController()
    const looking = setInterval(() => control.isStopRequested && asked.abort(), POLL_MS)
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
    const stop = AbortSignal.any([this.#person.turnBegins(), this.#run.ports.stop])
    let outcome: Outcome | undefined
    try {
      outcome = await this.#turn(text, stop)
    } catch (error) {
      this.#person.refused(asUserError(error))
      this.failures += 1
    }
    if (outcome !== undefined && isBad(outcome)) this.failures += 1
    this.#person.turnEnds(outcome)
  }

  async #turn(text: string, stop: AbortSignal): Promise<Outcome | undefined> {
    const spoken = this.#read(text)
    const { launch, phases, place } = spoken
    this.#count += 1
    const { queue } = this.#run.ports
    try {
      if (queue !== undefined) await refuseTasks(phases, 'the prompt', MAIN, this.#step, queue)
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
      this.#run.spending.recorded(place.scope)
    }
  }

  /** Refuses an invalid message before any of it takes effect. */
  #read(text: string): Spoken {
    const { plan, ports, spending } = this.#run
    const step = { ...this.#step, prompt: [{ level: 'command line' as const, text: [text] }] }
    const broke = spending.spentBudget(step)
    if (broke !== undefined) throw noBudget(plan.run, spending.left(step), broke.detail)
    const iteration = stepAt(ports.state(), step).iterations + 1
    const place = iterationPlace(step, ports.state(), { iteration, attempt: 1 })
    const { launch, ...prepared } = prepareTurn(step, place, this.#run, {
      mode: 'chat',
      reserve: (mayQueue) => spending.reserve(step, place, { mayQueue }),
    })
    if (launch.kind !== 'loop') throw new Error('no agent to talk to')
    return { ...prepared, launch, place }
  }

  async #ask(spoken: Spoken, stop: AbortSignal): Promise<Outcome> {
    const { ports } = this.#run
    const { launch, place } = spoken
    const prompt = { level: 'command line' as const }
    const promptHash = spoken.promptHash()
    const began = awakeMs()
    const turn = { ...this.#turnOf(spoken), stop, begin: chatTurn(this.#person) }
    const turned = await followAgent(launch, this.#step, turn, this.#run, (started) =>
      ports.emit({ type: 'iteration_started', ...place, ...started, prompt, promptHash }),
    )
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
    const { ports, processes, queues } = this.#run
    const env = stepEnvironment(this.#step, place.iteration, this.#run)
    return {
      step: this.#step,
      place,
      env,
      left,
      queue: queues.provider(this.#step),
      ports,
      processes,
    }
  }

  /** Executes the commands before or after the agent's turn. */
  async #doPhase(
    phase: 'setup' | 'teardown',
    { phases, place: { scope } }: Spoken,
    isSuccess = true,
  ): Promise<void> {
    const { plan, ports, queues } = this.#run
    const id = [plan.run, ...scope, `t${this.#count}`, phase].join('.')
    const none: PhaseDone = { pushed: [], started: [], held: 0 }
    const done = await queues.provider(this.#step)?.use(
      'create-run',
      ({ client }) =>
        phase === 'setup' ? setUp(client, phases, id) : tearDown(client, phases, isSuccess, id),
      () => none,
    )
    if (done === undefined) throw new UserError('Queues need a run record, and this chat has none.')
    const { refused, ...rest } = done
    const place = currentPlace(this.#step, ports.state())
    ports.emit({ type: 'phase_ended', ...place, phase, ...rest })
    if (refused !== undefined) throw refused
  }
}

/** Refuses tasks whose agent does not exist, including nested ones, before any takes effect. */
export async function refuseTasks(
  { setup, teardown }: Phases,
  where: string,
  parent: string,
  pusher: StepNode,
  queue: Pick<QueuePort, 'subAgent'>,
): Promise<void> {
  for (const command of [...setup, ...teardown]) {
    if (command.kind !== 'push') continue
    const at = taskPlace(command, where)
    const { name = 'task', agent, model } = command
    const task = { name, options: { agent, model } }
    const node = await queue.subAgent(task, parent, pusher).catch((error: unknown) => {
      if (!(error instanceof UserError)) throw error
      throw new UserError(`${at}  ${error.message}`, error.hint)
    })
    await refuseTasks(readPhases([command.prompt], at), at, name, node, queue)
  }
}

/** A turn that was stopped or ran out of budget also counts as failed. */
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
    `Continue with a larger one: forkhestra chat --resume ${run} ${option} …`,
  )
}

const QUIET: LoopDelivery = {
  end: new AbortController().signal,
  spent: new AbortController().signal,
  alive: () => undefined,
}

/** Continues the conversation of the chat instead of a new one, and streams the answer. */
function chatTurn(person: Pick<Person, 'hear' | 'restartAnswer'>) {
  return async function* (
    launch: LoopLaunch,
    turn: NativeTurn,
    delivery: LoopDelivery,
  ): AsyncGenerator<Fact> {
    const { runChatTurn } = await import('../../engines/native/chat-turn.ts')
    const mask = turn.ports.maskStream()
    yield* runChatTurn(launch, chatIo(turn, delivery), { person, mask }, delivery.end)
  }
}

/** Adds files to the conversation without asking the model anything. */
async function keepReads(launch: LoopLaunch, turn: NativeTurn): Promise<void> {
  const { addReads } = await import('../../engines/native/chat-turn.ts')
  await addReads(launch, chatIo(turn, QUIET))
}

/** All turns of all sessions share one conversation. */
function chatIo(turn: NativeTurn, delivery: LoopDelivery) {
  const { round: _, ...place } = turn.place
  const first = { ...place, iteration: 1, attempt: 1 }
  return { ...makeIo({ ...turn, place: first }, delivery), resumePolicy: 'always' as const }
}
