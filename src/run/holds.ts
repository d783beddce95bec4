import { withoutSkips } from '../base/awake.ts'
import { UserError } from '../base/errors.ts'
import { localTime } from '../base/local-time.ts'
import { outcomeWords } from '../events/outcome-words.ts'
import type { Outcome } from '../events/schema.ts'
import { stepAt } from '../events/state.ts'
import type { StepNode } from '../plan/plan.ts'
import type { Later } from '../queue/store.ts'
import type { FailureClass, TaskHead } from '../queue/task.ts'
import { spentBudget } from './budget.ts'
import { Patience, type Pause } from './patience.ts'
import { placeOf, type Place } from './place.ts'
import type { Pushers } from './pushers.ts'
import { waitFor } from './waiting.ts'
import type { CrewContext } from './work-task.ts'

/** What comes of a task that may not begin, or that was turned away: another time, or a failure. */
export type Held = Later | { readonly class: FailureClass; readonly error: string }

/** Of a refusal that says no time. */
const REFUSED_MS = 60_000

/** Keeps tasks from being begun against a limit that one of their kind has met, or in vain. */
export class Holds {
  readonly #context: CrewContext
  readonly #pushers: Pushers
  readonly #closing: AbortSignal
  readonly #goOn: () => Promise<void>
  readonly #patience = new Map<string, Patience>()
  /** What is waited for, by kind of agent. */
  readonly #pauses = new Map<string, Pause>()
  /** Waits under way; one may last longer than its pause, because of a hook. */
  readonly #waits = new Set<Promise<void>>()
  readonly #refusals = new Map<string, { readonly until: number; readonly error: string }>()

  /** `goOn` is called when a wait is over; `closing` ends all of them. */
  constructor(
    context: CrewContext,
    pushers: Pushers,
    closing: AbortSignal,
    goOn: () => Promise<void>,
  ) {
    this.#context = context
    this.#pushers = pushers
    this.#closing = closing
    this.#goOn = goOn
  }

  get isPausing(): boolean {
    return this.#pauses.size > 0
  }

  /** Why a task may not begin now; undefined: it may. */
  of(node: StepNode, now = Date.now()): Held | undefined {
    for (const kind of [kindOf(node), modelOf(node)]) {
      const { until = 0, error = '' } = this.#refusals.get(kind) ?? {}
      if (until > now) return { class: 'fatal', error: `not begun: ${error}` }
    }
    const pause = this.#pauseOf(kindOf(node))
    return pause === undefined ? undefined : laterAt(pause.until)
  }

  /** The clock ends a pause: its wait may not have looked at it yet, or may wait for a hook. */
  #pauseOf(kind: string): Pause | undefined {
    const pause = this.#pauses.get(kind)
    if (pause === undefined || pause.until > Date.now()) return pause
    this.#endPause(kind, pause)
    return undefined
  }

  #endPause(kind: string, pause: Pause): void {
    if (this.#pauses.get(kind) !== pause) return
    this.#pauses.delete(kind)
    this.#patience.get(kind)?.waited()
  }

  /** What the outcome of a task's agent means for it, and for all that are of its kind. */
  after(node: StepNode, outcome: Outcome, place: Place): Held | undefined {
    if (outcome.kind === 'auth_failed') {
      this.#refusals.set(modelOf(node), { until: Infinity, error: outcomeWords(outcome) })
      return undefined
    }
    const kind = kindOf(node)
    const isLimited = outcome.kind === 'rate_limited'
    if (this.#pauseOf(kind) !== undefined) return isLimited ? this.of(node) : undefined
    const patience = this.#patience.get(kind) ?? new Patience(node.policy)
    this.#patience.set(kind, patience)
    const next = patience.after(outcome)
    return isLimited && next !== undefined
      ? this.#afterLimit(node, outcome, next, place)
      : undefined
  }

  #afterLimit(
    node: StepNode,
    outcome: Outcome & { kind: 'rate_limited' },
    next: NonNullable<ReturnType<Patience['after']>>,
    place: Place,
  ): Held {
    const { plan, ports } = this.#context
    if ('reason' in next) {
      const error = `${outcomeWords(outcome)}; ${next.detail}`
      const until = Math.max((outcome.resetsAt ?? 0) * 1000, Date.now() + REFUSED_MS)
      this.#refusals.set(kindOf(node), { until, error })
      return { class: 'fatal', error }
    }
    const { until } = next
    if (spentBudget(node, plan, ports.state(), withoutSkips(until)) !== undefined) {
      const error = `a wait until ${localTime(until)} would go beyond the time that is left`
      return { class: 'budget', error }
    }
    this.#pause(kindOf(node), next, place)
    return laterAt(until)
  }

  /** A wait in which an earlier process was: what met the limit is still put off. */
  async takeUp(): Promise<void> {
    const { store, plan, ports } = this.#context
    const { nextReadyInMs } = await store.outlook(plan.run)
    if (nextReadyInMs === null || nextReadyInMs <= store.times.longestPauseMs) return
    const { id = 's1', number = 1 } = this.#pushers.main ?? {}
    const { rounds, iterations, attempt } = stepAt(ports.state(), number)
    const place = {
      ...placeOf({ id, number }, rounds),
      iteration: Math.max(1, iterations),
      attempt: Math.max(1, attempt),
    }
    const until = Date.now() + nextReadyInMs
    this.#pause('', { why: 'quota', until, error: 'tasks have met a limit' }, place)
  }

  /** Puts off what is ready and would only meet the same limit. */
  async postpone(): Promise<void> {
    const { store, plan } = this.#context
    const ready = await store.list(plan.run, { isDue: true })
    const kinds = new Map<string, string>()
    const groups = new Map<string, string[]>()
    for (const task of ready) {
      // There may be thousands, of few kinds.
      const like = `${task.parent} ${task.options.agent}`
      const kind = kinds.get(like) ?? (await this.#kindOfTask(task))
      kinds.set(like, kind)
      const group = groups.get(kind) ?? []
      group.push(task.id)
      groups.set(kind, group)
    }
    for (const [kind, ids] of groups) {
      const pause = this.#pauseOf(kind)
      if (pause !== undefined) await store.postpone(plan.run, ids, pause.until - Date.now())
    }
  }

  /** Settles when no wait is left; the closing of the crew ends them. */
  async end(): Promise<void> {
    await Promise.all(this.#waits)
  }

  async #kindOfTask(task: TaskHead): Promise<string> {
    try {
      return kindOf(await this.#pushers.nodeFor(task, await this.#pushers.of(task)))
    } catch (error) {
      // It is told when it is its turn.
      if (error instanceof UserError) return 'none'
      throw error
    }
  }

  #pause(kind: string, pause: Pause, place: Place): void {
    this.#pauses.set(kind, pause)
    const over = this.#wait(kind, pause, place)
    this.#waits.add(over)
    const forget = () => this.#waits.delete(over)
    over.then(forget, forget)
  }

  async #wait(kind: string, pause: Pause, place: Place): Promise<void> {
    const { store, plan, ports } = this.#context
    const stop = AbortSignal.any([ports.stop, this.#closing])
    const context = { ...this.#context, ports: { ...ports, stop } }
    const cause = await waitFor(pause, this.#pushers.main, place, context)
    this.#endPause(kind, pause)
    if (cause === 'stopped') return
    if (cause === 'retry_now') {
      const ready = await store.list(plan.run, { states: ['ready'] })
      const ids = ready.map(({ id }) => id)
      await store.postpone(plan.run, ids, 0)
    }
    await this.#goOn()
  }
}

/** Time goes by until it is written down: one that was turned away would come behind those put off. */
function laterAt(until: number): Later {
  return {
    get inMs() {
      return Math.max(0, until - Date.now())
    },
  }
}

/** Who shares a limit: the same program with the same settings. */
function kindOf({ agent, policy }: StepNode): string {
  const program = programOf(agent)
  return `${program} ${JSON.stringify(policy.env)}`
}

function programOf(agent: StepNode['agent']): string {
  if (agent.engine === 'binary') return agent.name
  return agent.engine === 'claude' ? 'claude' : `${agent.provider} ${agent.baseUrl ?? ''}`
}

/** Who is refused together: what one model may not, another one may. */
function modelOf(node: StepNode): string {
  const { agent } = node
  return `${kindOf(node)} ${agent.engine === 'binary' ? '' : (agent.model ?? '')}`
}
