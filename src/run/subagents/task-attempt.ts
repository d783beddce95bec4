import { awakeMs } from '../../base/awake.ts'
import { errorWithHint, UserError } from '../../base/errors.ts'
import { stepAt } from '../../records/events/state.ts'
import type { StepNode } from '../../chain/plan/plan.ts'
import { QueueError } from '../../queue/refusal.ts'
import { MAIN, type Claim } from '../../queue/task.ts'
import type { Deferral, Backoff } from './backoff.ts'
import { placeOf, type Place } from '../chain/place.ts'
import { stopReason, stopReasonOf } from '../chain/ports.ts'
import type { Pusher, Pushers } from './pushers.ts'
import { willBeRetried, stopChildren, waitForChildren } from './task-children.ts'
import { closeTask, type StoreServices } from './task-close.ts'
import { classOfError, type Stopped } from './task-end.ts'
import { runAttempt, type PoolContext, type Refused, type AttemptResult } from './work-task.ts'

/** What an attempt needs from the worker pool. */
interface PoolServices extends StoreServices {
  /** Whether every running task waits for tasks that cannot start for lack of a slot. */
  isStuck(): Promise<boolean>
  /** Settles when this process runs none of its children. */
  childrenOver(): Promise<void>
  readonly backoff: Backoff
  /** Settles when all tasks that may start now have been claimed. */
  gathered(): Promise<unknown>
  /** How many attempts are about to start, including this one. */
  beginning(): number
}

/** One attempt at a task, from its claim to its end in the store. */
export class TaskAttempt {
  readonly claim: Claim
  readonly #context: PoolContext
  readonly #pushers: Pushers
  readonly #pool: PoolServices
  readonly #cancel = new AbortController()
  readonly #stop: AbortSignal
  #stopped: Stopped | undefined
  #isWaiting = false
  #isOver = false
  #hasBegun = false

  constructor(claim: Claim, context: PoolContext, pushers: Pushers, pool: PoolServices) {
    this.claim = claim
    this.#context = context
    this.#pushers = pushers
    this.#pool = pool
    this.#stop = AbortSignal.any([this.#cancel.signal, context.ports.stop])
  }

  /** Claimed, but without its share of the budgets yet. */
  get isBeginning(): boolean {
    return !this.#hasBegun
  }

  /** Its agent is done and its children are not. */
  get isWaiting(): boolean {
    return this.#isWaiting
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
    const place = this.#place()
    const { worked, parent } = await this.#work(place)
    const pushers = this.#pushers
    const childrenEnd = () => this.#childrenEnd(worked)
    const closing = { claim, worked, parent: parent.name, place, pushers, childrenEnd, began }
    await closeTask(closing, this.#pool, this.#context, () => {
      this.#isOver = true
      pushers.ended(claim.task)
    })
    this.#context.spending.told(place.scope)
  }

  #childrenEnd(worked: AttemptResult): Promise<void> {
    this.#isWaiting = true
    const willRetry = willBeRetried(worked, this.claim) && !this.#stop.aborted
    const end = willRetry ? stopChildren : waitForChildren
    return end(this.claim, this.#stop, this.#pool, this.#context)
  }

  #place(): Place {
    const { task, attempt } = this.claim
    const { ports } = this.#context
    const { id = 's1', number = 1 } = this.#pushers.main ?? {}
    const { rounds, iterations } = stepAt(ports.state(), number)
    const place = placeOf({ id, number }, rounds)
    const scope = [...place.scope, `task:${task.name}`, `a${attempt}`]
    return { ...place, scope, iteration: Math.max(1, iterations), attempt, task: task.name }
  }

  async #work(place: Place): Promise<{ worked: AttemptResult; parent: Pusher }> {
    const { task } = this.claim
    let parent: Pusher = { name: MAIN, node: undefined }
    try {
      parent = await this.#pushers.of(task)
      const node = await this.#pushers.nodeFor(task, parent)
      await this.#pool.gathered()
      const broke = this.#context.spending.spentBudget(node)
      if (broke?.detail !== undefined) {
        const why = { class: 'budget' as const, error: broke.detail }
        return { parent, worked: this.#refuse(place, parent, why) }
      }
      const refused = this.#whyNotBegun() ?? asRefused(this.#pool.backoff.deferralOf(node))
      if (refused !== undefined) {
        return { parent, worked: this.#refuse(place, parent, refused) }
      }
      const job = {
        claim: this.claim,
        node,
        parent: parent.name,
        place,
        stop: this.#stop,
        whyStopped: () => this.#whyStopped(),
        whyNotBegun: () => this.#whyNotBegun(),
        began: (step: StepNode) => this.#pushers.began(task, step),
        promise: (step: StepNode, mayQueue: boolean) => this.#promise(step, place, mayQueue),
      }
      const worked = await runAttempt(job, this.#context)
      return { parent, worked: this.#afterTurn(worked, node, place) }
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      const words = error instanceof QueueError ? errorWithHint(error) : error.message
      const why = { class: classOfError(error), error: words }
      return { parent, worked: this.#refuse(place, parent, why) }
    }
  }

  #promise(step: StepNode, place: Place, mayQueue: boolean) {
    const sharers = this.#pool.beginning()
    this.#hasBegun = true
    return this.#context.spending.promise(step, place, { sharers, mayQueue })
  }

  /** In the events, a task that cannot start has started and ended. */
  #refuse(place: Place, parent: Pusher, { later, ...why }: Refused): AttemptResult {
    this.#hasBegun = true
    const { id, name, options } = this.claim.task
    const agent = options.agent ?? parent.node?.agent.name ?? 'claude'
    this.#context.ports.emit({
      type: 'task_started',
      ...place,
      task: name,
      id,
      parent: parent.name,
      agent,
    })
    return { end: { success: false, ...why }, agent, later }
  }

  /** A rate-limited attempt is repeated without counting as a retry, or fails for good. */
  #afterTurn(worked: AttemptResult, node: StepNode, place: Place): AttemptResult {
    const { turned, end } = worked
    if (turned === undefined || end.success || this.#whyStopped() !== undefined) return worked
    const held = this.#pool.backoff.after(node, turned.outcome, place)
    if (held === undefined) return worked
    return 'inMs' in held ? { ...worked, later: held } : { ...worked, end: { ...end, ...held } }
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

function asRefused(held: Deferral | undefined): Refused | undefined {
  if (held === undefined || 'class' in held) return held
  return { class: 'transient', error: 'an agent of the same kind has hit a limit', later: held }
}
