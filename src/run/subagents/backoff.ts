import { withoutSkips } from '../../base/awake.ts'
import { UserError } from '../../base/errors.ts'
import { describeOutcome } from '../../records/events/describe-outcome.ts'
import type { Outcome } from '../../records/events/schema.ts'
import type { StepNode } from '../../chain/plan/plan.ts'
import type { RetryDelay } from '../../queue/store.ts'
import type { FailureClass, TaskHead } from '../../queue/task.ts'
import { Patience, type Pause } from '../policy/patience.ts'
import { subAgentPlace, type Place } from '../place.ts'
import { waitTooLong } from '../policy/patience.ts'
import { limitKind } from '../policy/shared-limits.ts'
import { waitFor } from '../policy/waiting.ts'
import type { PoolContext } from './pool-context.ts'

/** Why a task may not run now: it is delayed, or it fails. */
export type Deferral = RetryDelay | { readonly class: FailureClass; readonly error: string }

/** The place of a waiting task, and the step that it belongs to. */
interface Where {
  readonly place: Place
  readonly step: StepNode | undefined
}

/** Default if a refusal names no time. */
const REFUSED_MS = 60_000

/** Delays or fails tasks whose kind of agent has hit a limit or was refused. */
export class Backoff {
  readonly #context: PoolContext
  readonly #closing: AbortSignal
  readonly #onWaitOver: () => Promise<void>
  readonly #patience = new Map<string, Patience>()
  /** Current pauses, by kind of agent. */
  readonly #pauses = new Map<string, Pause>()
  /** Pauses that the user has ended. */
  readonly #cancelled = new WeakSet<Pause>()
  /** A wait may outlast its pause because of a hook. */
  readonly #waits: Promise<void>[] = []
  readonly #refusals = new Map<string, { readonly until: number; readonly error: string }>()

  /** `onWaitOver` is called after each wait; `closing` ends all of them. */
  constructor(context: PoolContext, closing: AbortSignal, onWaitOver: () => Promise<void>) {
    this.#context = context
    this.#closing = closing
    this.#onWaitOver = onWaitOver
  }

  get isPausing(): boolean {
    return this.#pauses.size > 0
  }

  /** Why a task of this step may not start now; undefined if it may. */
  deferralOf(node: StepNode, now = Date.now()): Deferral | undefined {
    for (const kind of [limitKind(node), modelOf(node)]) {
      const { until = 0, error = '' } = this.#refusals.get(kind) ?? {}
      if (until > now) return { class: 'fatal', error: `not started: ${error}` }
    }
    const pause = this.#pauseOf(limitKind(node))
    return pause === undefined ? undefined : this.#delayBy(pause)
  }

  /**
   * Computed only when it is stored: time passes until then, the task must not end up after later ones, and the
   * user may already have ended the wait.
   */
  #delayBy(pause: Pause): RetryDelay {
    const cancelled = this.#cancelled
    return {
      get inMs() {
        return cancelled.has(pause) ? 0 : Math.max(0, pause.until - Date.now())
      },
    }
  }

  /** The clock ends a pause, because its wait may not have noticed yet or may be waiting for a hook. */
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

  /** What the outcome of a task's agent means for the task and for others of its kind. */
  after(
    node: StepNode,
    outcome: Outcome,
    place: Place,
    step: StepNode | undefined,
  ): Deferral | undefined {
    if (outcome.kind === 'auth_failed') {
      this.#refusals.set(modelOf(node), { until: Infinity, error: describeOutcome(outcome) })
      return undefined
    }
    const kind = limitKind(node)
    const isLimited = outcome.kind === 'rate_limited'
    if (this.#pauseOf(kind) !== undefined) return isLimited ? this.deferralOf(node) : undefined
    const patience = this.#patience.get(kind) ?? new Patience(node.policy)
    this.#patience.set(kind, patience)
    const next = patience.after(outcome)
    return isLimited && next !== undefined
      ? this.#afterLimit(node, outcome, next, { place, step })
      : undefined
  }

  #afterLimit(
    node: StepNode,
    outcome: Outcome & { kind: 'rate_limited' },
    next: NonNullable<ReturnType<Patience['after']>>,
    where: Where,
  ): Deferral {
    if ('reason' in next) {
      const error = `${describeOutcome(outcome)}; ${next.detail}`
      const until = Math.max((outcome.resetsAt ?? 0) * 1000, Date.now() + REFUSED_MS)
      this.#refusals.set(limitKind(node), { until, error })
      return { class: 'fatal', error }
    }
    if (this.#context.spending.spentBudget(node, withoutSkips(next.until)) !== undefined)
      return { class: 'budget', error: waitTooLong(next) }
    this.#pause(limitKind(node), next, where)
    return this.#delayBy(next)
  }

  /** Continues the wait of an earlier process: the tasks that hit the limit are still postponed. */
  async restore(): Promise<void> {
    const { store, plan, ports, pushers } = this.#context
    const { nextReadyInMs } = await store.outlook(plan.run)
    if (nextReadyInMs === null || nextReadyInMs <= store.times.longestPauseMs) return
    const until = Date.now() + nextReadyInMs
    const pause = { why: 'quota', until, error: 'tasks have hit a limit' } as const
    const [task] = await store.list(plan.run, { states: ['ready'] })
    if (task === undefined) return
    const step = await pushers.stepOf(task)
    this.#pause('', pause, { step, place: subAgentPlace(step, ports.state()) })
  }

  /** Postpones ready tasks that would only hit the same limit. */
  async postpone(): Promise<void> {
    const { store, plan } = this.#context
    const ready = await store.list(plan.run, { isDue: true })
    const kinds = new Map<string, string>()
    const groups = new Map<string, string[]>()
    for (const task of ready) {
      // There may be thousands of tasks, but few kinds.
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

  /** Settles when no wait is left; closing the pool ends all waits. */
  async end(): Promise<void> {
    await Promise.all(this.#waits)
  }

  async #kindOfTask(task: TaskHead): Promise<string> {
    const { pushers } = this.#context
    try {
      return limitKind(await pushers.nodeFor(task, await pushers.of(task)))
    } catch (error) {
      // The problem is reported when the task is started.
      if (error instanceof UserError) return 'none'
      throw error
    }
  }

  #pause(kind: string, pause: Pause, where: Where): void {
    this.#pauses.set(kind, pause)
    const over = this.#wait(kind, pause, where)
    this.#waits.push(over)
    // A failure is thrown by `end`.
    over.catch(() => undefined)
  }

  async #wait(kind: string, pause: Pause, { place, step }: Where): Promise<void> {
    const { store, plan, ports } = this.#context
    const stop = AbortSignal.any([ports.stop, this.#closing])
    const cause = await waitFor(pause, step, place, this.#context, stop)
    this.#endPause(kind, pause)
    if (cause === 'stopped') return
    if (cause === 'retry_now') {
      this.#cancelled.add(pause)
      const ready = await store.list(plan.run, { states: ['ready'] })
      const ids = ready.map(({ id }) => id)
      await store.postpone(plan.run, ids, 0)
    }
    await this.#onWaitOver()
  }
}

/** A refusal applies to one model only. */
function modelOf(node: StepNode): string {
  const { agent } = node
  return `${limitKind(node)} ${agent.engine === 'binary' ? '' : (agent.model ?? '')}`
}
