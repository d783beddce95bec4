import { UserError } from '../../base/errors.ts'
import { firstCause } from '../../base/first-cause.ts'
import type { StepNode } from '../../chain/plan/plan.ts'
import { makeHolder } from '../../queue/client.ts'
import type { QueueError } from '../../queue/refusal.ts'
import type { QueueStore, Settled } from '../../queue/store.ts'
import { runEnvironment } from '../process/environment.ts'
import type { Context } from '../context.ts'
import { OpenWorktrees } from '../worktrees/open-worktrees.ts'
import { Worktrees } from '../worktrees/worktree.ts'
import { Backoff } from './backoff.ts'
import { checkWorkers, expireLost, reportEnds, sendHeartbeats } from './lost-attempts.ts'
import { Pushers } from './pushers.ts'
import { isStoreLost, retryStoreFailures, type StoreWarnings } from './store-failures.ts'
import { TaskAttempt } from './task-attempt.ts'
import type { StoreServices } from './close-attempt.ts'
import type { PoolContext } from './pool-context.ts'

/** Pause after the store has failed. */
const PAUSE_MS = 1000

/** What the pool needs from its run's queues. */
interface Owner {
  /** The step whose agent has this name, or had it last. */
  stepOf(agent: string): StepNode | undefined
  readonly warnings: StoreWarnings
  /** Called when the store was damaged or deleted. */
  onLost(error: QueueError): void
}

/** Claims the ready tasks of a run and runs their agents in parallel. */
export class WorkerPool {
  readonly #context: PoolContext
  readonly #owner: Owner
  readonly #worker = makeHolder('w')
  readonly #closing = new AbortController()
  readonly #broken = new AbortController()
  readonly #backoff: Backoff
  readonly #attempts = new Map<TaskAttempt, Promise<void>>()
  #heartbeat: Timer | undefined
  /** Settles when nothing more can be claimed now: the claimed tasks share the budget. */
  #gathering: Promise<unknown> = Promise.resolve()
  #loop: Promise<void> | undefined
  hasLostStore = false

  constructor(context: Context, store: QueueStore, owner: Owner) {
    const { plan, ports } = context
    const worktrees = new Worktrees(runEnvironment(plan.run, ports), ports)
    this.#owner = owner
    this.#context = {
      ...context,
      store,
      pushers: new Pushers(context, store, (agent) => owner.stepOf(agent)),
      worktrees,
      openWorktrees: new OpenWorktrees({ run: plan.run, store, worktrees, queue: ports.queue }),
    }
    const claimAll = () => this.#breakOnBug(this.#guard('claim', () => this.#claimAll()))
    this.#backoff = new Backoff(this.#context, this.#closing.signal, claimAll)
  }

  /** Takes over from an earlier process and starts claiming. */
  async start(): Promise<void> {
    await expireLost([], this.#context)
    await reportEnds(this.#context)
    await this.#backoff.restore()
    const check = () => checkWorkers([...this.#attempts.keys()], this.#context)
    // Well before a claim expires.
    this.#heartbeat = setInterval(
      () => void this.#breakOnBug(this.#guard('heartbeat', check)),
      this.#context.store.times.taskLeaseMs / 3,
    )
    this.#loop = this.#breakOnBug(this.#work())
  }

  /** Aborts with the exception when there is a bug, because nothing is left to wait for. */
  get broken(): AbortSignal {
    return this.#broken.signal
  }

  /** Settles when no task is running, or none below the agent of a step if one is given. */
  async idle(agent?: string): Promise<void> {
    while (!this.broken.aborted) {
      const attempts = await this.#attemptsBelow(agent)
      if (attempts.length === 0) break
      await firstCause({ all: Promise.all(attempts), broken: this.broken })
    }
    this.broken.throwIfAborted()
  }

  async #attemptsBelow(agent: string | undefined): Promise<Promise<void>[]> {
    if (agent === undefined) return [...this.#attempts.values()]
    const { pushers } = this.#context
    const isBelow = async ({ claim }: TaskAttempt) => (await pushers.topOf(claim.task)) === agent
    const found = [...this.#attempts].map(async ([attempt, over]) =>
      (await isBelow(attempt)) ? [{ over }] : [],
    )
    return (await Promise.all(found)).flat().map(({ over }) => over)
  }

  /** Claims nothing more and waits for the running tasks. */
  async end(): Promise<void> {
    this.#closing.abort()
    await this.#loop
    try {
      await this.idle()
      await this.#backoff.end()
      await this.#guard('end', () => this.#context.openWorktrees.end())
    } finally {
      clearInterval(this.#heartbeat)
    }
  }

  get #isClosing(): boolean {
    return this.#closing.signal.aborted || this.#context.ports.stop.aborted
  }

  async #work(): Promise<void> {
    while (!this.#isClosing) {
      const isDone = await this.#guard('claim', () => this.#claimAndWait())
      if (!isDone) await firstCause({ pause: PAUSE_MS, closing: this.#closing.signal })
    }
  }

  async #claimAndWait(): Promise<void> {
    const { store, plan, ports } = this.#context
    const mark = await store.mark()
    const { isReady, cancelling, nextReadyInMs } = await store.outlook(plan.run)
    const attempts = [...this.#attempts.keys()]
    const stopping = attempts.filter(({ isStopping }) => isStopping)
    if (cancelling > stopping.length) await sendHeartbeats(attempts, this.#context)
    if (isReady) await this.#claimAll()
    const soon = nextReadyInMs === null ? [] : [AbortSignal.timeout(nextReadyInMs + 1)]
    const signal = AbortSignal.any([this.#closing.signal, ports.stop, ...soon])
    await store.wait(plan.run, mark, signal)
  }

  async #claimAll(): Promise<void> {
    if (this.#backoff.isPausing) await this.#backoff.postpone()
    const claimed = this.#claimWhilePossible()
    this.#gathering = claimed.catch(() => undefined)
    await claimed
  }

  /** Doubles the number of parallel claims, so that the store can write them in one transaction. */
  async #claimWhilePossible(): Promise<void> {
    for (let count = 1; ; count *= 2) {
      const claimed = await Promise.all(Array.from({ length: count }, () => this.#claimNext()))
      if (claimed.includes(false)) return
    }
  }

  /** False if nothing may start now. */
  async #claimNext(): Promise<boolean> {
    const { store, plan, ports } = this.#context
    if (this.#isClosing || ports.control.isStopRequested) return false
    const claim = await store.claim(plan.run, this.#worker)
    if (claim === null) return false
    const attempt: TaskAttempt = new TaskAttempt(claim, this.#context, {
      backoff: this.#backoff,
      gathered: () => this.#gathering,
      countStarting: () => [...this.#attempts.keys()].filter((each) => each.isStarting).length,
      isStuck: () => this.#isStuck(),
      childrenOver: () => this.#childrenOver(claim.task.id),
      settle: (...how) => this.#settle(attempt, ...how),
      withStoreRetries: (work) => this.#withStoreRetries(work),
    })
    this.#attempts.set(attempt, this.#breakOnBug(this.#finish(attempt)))
    return true
  }

  /** Claims the next task at the same time, so that the store can write both in one transaction. */
  async #settle(
    attempt: TaskAttempt,
    ...how: Parameters<StoreServices['settle']>
  ): Promise<Settled> {
    const { store } = this.#context
    const settled = this.#withStoreRetries(() => store.settle(attempt.claim, ...how))
    if (this.#backoff.isPausing) return settled
    const next = this.#guard('claim', async () => void (await this.#claimNext()))
    // Thrown below, after the attempt is settled.
    next.catch(() => undefined)
    try {
      return await settled
    } finally {
      await next
    }
  }

  async #childrenOver(parent: string): Promise<void> {
    const children = [...this.#attempts].filter(([{ claim }]) => claim.task.parent === parent)
    await Promise.all(children.map(([, over]) => over))
  }

  #withStoreRetries<Result>(work: () => Promise<Result>): Promise<Result> {
    return retryStoreFailures(work, this.#context.ports.stop, this.#owner.warnings)
  }

  async #finish(attempt: TaskAttempt): Promise<void> {
    try {
      await this.#guard(attempt, () => attempt.run())
    } finally {
      this.#attempts.delete(attempt)
      this.#owner.warnings.gaveUp(attempt)
    }
  }

  /** A bug closes the pool and rejects `idle`. */
  async #breakOnBug(work: Promise<unknown>): Promise<void> {
    try {
      await work
    } catch (error) {
      this.#broken.abort(error)
      this.#closing.abort()
    }
  }

  /** Whether every running task waits for tasks that have no free slot. */
  async #isStuck(): Promise<boolean> {
    const { store, plan } = this.#context
    if (![...this.#attempts.keys()].every(({ isWaiting }) => isWaiting)) return false
    return (await store.counts(plan.run)).slotsLeft === 0
  }

  /**
   * A failing store causes only a warning, because its content is safe. Returns false on failure; `who` will
   * retry.
   */
  async #guard(who: string | TaskAttempt, work: () => Promise<void>): Promise<boolean> {
    const { warnings } = this.#owner
    try {
      await work()
      warnings.worked(who)
      return true
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      if (isStoreLost(error)) this.abandonStore(error)
      else warnings.failed(who, error)
      return false
    }
  }

  /** Claims nothing more after the store was damaged or deleted; running tasks may finish. */
  abandonStore(error: QueueError): void {
    if (this.hasLostStore) return
    this.hasLostStore = true
    this.#closing.abort()
    clearInterval(this.#heartbeat)
    this.#owner.onLost(error)
  }
}
