import { awakeMs } from '../../base/awake.ts'
import { errorWithHint, UserError } from '../../base/errors.ts'
import type { StepNode } from '../../chain/plan/plan.ts'
import type { RetryDelay } from '../../queue/store.ts'
import { MAIN, type Claim, type FailureClass } from '../../queue/task.ts'
import { subAgentPlace, type Place } from '../place.ts'
import { stopReason, stopReasonOf } from '../ports.ts'
import { SpawnError } from '../process/child.ts'
import { StopError } from '../process/git.ts'
import type { Backoff } from './backoff.ts'
import type { Pusher } from './pushers.ts'
import {
  stopChildren,
  waitForChildren,
  willBeRetried,
  type ChildServices,
} from './task-children.ts'
import { closeTask, type StoreServices } from './task-close.ts'
import { classOfError, type Stopped } from './task-end.ts'
import { runAttempt } from './work-task.ts'
import type { AttemptResult, PoolContext } from './pool-context.ts'

/** What an attempt needs from the worker pool. */
interface PoolServices extends StoreServices, ChildServices {
  readonly backoff: Backoff
  /** Settles when all tasks that may start now have been claimed. */
  gathered(): Promise<unknown>
  /** How many attempts are about to start, including this one. */
  beginning(): number
}

/** Why a task does not start, and when it may. */
interface Refused {
  readonly class: FailureClass
  readonly error: string
  readonly later?: RetryDelay | undefined
}

/** One attempt at a task, from its claim to its end in the store. */
export class TaskAttempt {
  readonly claim: Claim
  /** Claimed, but without its share of the budgets yet. */
  isBeginning = true
  /** Its agent is done and its children are not. */
  isWaiting = false
  readonly #context: PoolContext
  readonly #pool: PoolServices
  readonly #cancel = new AbortController()
  readonly #stop: AbortSignal
  #stopped: Stopped | undefined
  #isOver = false

  constructor(claim: Claim, context: PoolContext, pool: PoolServices) {
    this.claim = claim
    this.#context = context
    this.#pool = pool
    this.#stop = AbortSignal.any([this.#cancel.signal, context.ports.stop])
  }

  get isStopping(): boolean {
    return this.#stopped !== undefined && !this.#isOver
  }

  stop(stopped: Stopped): void {
    this.#stopped ??= stopped
    this.#cancel.abort(stopReason('SIGTERM', stopped.error))
  }

  async run(): Promise<void> {
    const began = awakeMs()
    const { claim } = this
    const { pushers, ports, spending } = this.#context
    const at = subAgentPlace(pushers.main, ports.state())
    const { task, attempt } = claim
    const scope = [...at.scope, `task:${task.name}`, `a${attempt}`]
    const place = { ...at, scope, attempt, task: task.name }
    const { worked, parent } = await this.#work(place)
    const childrenEnd = () => this.#childrenEnd(worked)
    const closing = { claim, worked, parent: parent.name, place, childrenEnd, began }
    await closeTask(closing, this.#pool, this.#context, () => {
      this.#isOver = true
      pushers.ended(task)
    })
    spending.recorded(scope)
  }

  #childrenEnd(worked: AttemptResult): Promise<void> {
    this.isWaiting = true
    const willRetry = willBeRetried(worked, this.claim) && !this.#stop.aborted
    const end = willRetry ? stopChildren : waitForChildren
    return end(this.claim, this.#stop, this.#pool, this.#context)
  }

  async #work(place: Place): Promise<{ worked: AttemptResult; parent: Pusher }> {
    const { claim } = this
    const { pushers, spending } = this.#context
    let parent: Pusher = { name: MAIN, node: undefined }
    let node: StepNode | undefined
    try {
      parent = await pushers.of(claim.task)
      node = await pushers.nodeFor(claim.task, parent)
      await this.#pool.gathered()
      const refused = this.#whyNot(node)
      if (refused !== undefined)
        return { parent, worked: this.#refuse(place, parent, node, refused) }
      const worked = await runAttempt(
        {
          claim,
          node,
          parent: parent.name,
          place,
          cancel: this.#cancel.signal,
          stop: this.#stop,
          whyStopped: () => this.#whyStopped(),
          reserve: (step, mayQueue) => {
            const sharers = this.#pool.beginning()
            this.isBeginning = false
            return spending.reserve(step, place, { sharers, mayQueue })
          },
        },
        this.#context,
      )
      return { parent, worked: this.#afterTurn(worked, node, place) }
    } catch (error) {
      const refused = this.#whyFailed(error)
      return { parent, worked: this.#refuse(place, parent, node, refused) }
    }
  }

  /** Why the agent may not start now. */
  #whyNot(node: StepNode): Refused | undefined {
    const broke = this.#context.spending.spentBudget(node)
    if (broke?.detail !== undefined) return { class: 'budget', error: broke.detail }
    const stopped = this.#whyNotBegun()
    if (stopped !== undefined) return stopped
    const deferral = this.#pool.backoff.deferralOf(node)
    if (deferral === undefined || 'class' in deferral) return deferral
    const error = 'an agent of the same kind has hit a limit'
    return { class: 'transient', error, later: deferral }
  }

  #whyFailed(error: unknown): Refused {
    const stopped = error instanceof StopError ? this.#whyNotBegun() : undefined
    if (stopped !== undefined) return stopped
    if (!(error instanceof UserError || error instanceof SpawnError)) throw error
    return { class: classOfError(error), error: errorWithHint(error) }
  }

  /** In the events, a task that cannot start has started and ended. */
  #refuse(
    place: Place,
    parent: Pusher,
    node: StepNode | undefined,
    { later, ...why }: Refused,
  ): AttemptResult {
    this.isBeginning = false
    const { id, name: task, options } = this.claim.task
    const agent = node?.agent.name ?? options.agent ?? parent.node?.agent.name ?? 'claude'
    const about = { task, id, parent: parent.name, agent }
    this.#context.ports.emit({ type: 'task_started', ...place, ...about })
    return { end: { success: false, ...why }, agent, later }
  }

  /** A rate-limited attempt is repeated without counting as a retry, or fails for good. */
  #afterTurn(worked: AttemptResult, node: StepNode, place: Place): AttemptResult {
    const { turned, end } = worked
    if (turned === undefined || end.success || this.#whyStopped() !== undefined) return worked
    const deferral = this.#pool.backoff.after(node, turned.outcome, place)
    if (deferral === undefined) return worked
    return 'inMs' in deferral
      ? { ...worked, later: deferral }
      : { ...worked, end: { ...end, ...deferral } }
  }

  /** A task that was claimed but not started when the run stops is repeated without counting as a retry. */
  #whyNotBegun(): Refused | undefined {
    const stopped = this.#whyStopped()
    if (stopped === undefined || this.#stopped !== undefined) return stopped
    return { ...stopped, later: { inMs: 0 } }
  }

  #whyStopped(): Stopped | undefined {
    if (this.#stopped !== undefined) return this.#stopped
    const { stop } = this.#context.ports
    if (!stop.aborted) return undefined
    return { class: 'lost', error: `the run was ${stopReasonOf(stop).words}` }
  }
}
