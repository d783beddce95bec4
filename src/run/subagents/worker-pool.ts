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
import type { StoreServices } from './task-close.ts'
import type { PoolContext } from './pool-context.ts'

/** Pause after the store has failed. */
const PAUSE_MS = 1000

/** What a pool needs from the queues of its run. */
interface Owner {
  /** The step whose agent is `main`. */
  main(): StepNode | undefined
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
  /** Claims that were made while an attempt was being settled. */
  readonly #nexts = new Map<TaskAttempt, readonly Promise<boolean>[]>()
  #heartbeat: Timer | undefined
  /** Settles when nothing more can be claimed now: the budget is shared among those claimed. */
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
      pushers: new Pushers(context, store, () => owner.main()),
      worktrees,
      openWorktrees: new OpenWorktrees({ run: plan.run, store, worktrees, queue: ports.queue }),
    }
    const takeAll = () => this.#breakOnBug(this.#guard('take', () => this.#takeAll()))
    this.#backoff = new Backoff(this.#context, this.#closing.signal, takeAll)
  }

  /** Takes over from an earlier process and starts claiming. */
  async start(): Promise<void> {
    await expireLost([], this.#context)
    await reportEnds(this.#context)
    await this.#backoff.restore()
    const check = () => checkWorkers([...this.#attempts.keys()], this.#context)
    // Well before a claim expires.
    this.#heartbeat = setInterval(
      () => void this.#breakOnBug(this.#guard('look', check)),
      this.#context.store.times.taskLeaseMs / 3,
    )
    this.#loop = this.#breakOnBug(this.#work())
  }

  /** Aborts with the exception when there is a bug: then there is nothing left to wait for. */
  get broken(): AbortSignal {
    return this.#broken.signal
  }

  /** Settles when no task is running. */
  async idle(): Promise<void> {
    while (this.#attempts.size > 0 && !this.broken.aborted) {
      const all = Promise.all(this.#attempts.values())
      await firstCause({ all, broken: this.broken })
    }
    this.broken.throwIfAborted()
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
      const isDone = await this.#guard('take', () => this.#takeAndWait())
      if (!isDone) await firstCause({ pause: PAUSE_MS, closing: this.#closing.signal })
    }
  }

  async #takeAndWait(): Promise<void> {
    const { store, plan, ports } = this.#context
    const mark = await store.mark()
    const { isReady, cancelling, nextReadyInMs } = await store.outlook(plan.run)
    const attempts = [...this.#attempts.keys()]
    const stopping = attempts.filter(({ isStopping }) => isStopping)
    if (cancelling > stopping.length) await sendHeartbeats(attempts, this.#context)
    if (isReady) await this.#takeAll()
    const soon = nextReadyInMs === null ? [] : [AbortSignal.timeout(nextReadyInMs + 1)]
    const signal = AbortSignal.any([this.#closing.signal, ports.stop, ...soon])
    await store.wait(plan.run, mark, signal)
  }

  async #takeAll(): Promise<void> {
    if (this.#backoff.isPausing) await this.#backoff.postpone()
    const taken = this.#takeWhilePossible()
    this.#gathering = taken.catch(() => undefined)
    await taken
  }

  /** Doubles the number of parallel claims, so that the store can write them in one transaction. */
  async #takeWhilePossible(): Promise<void> {
    for (let count = 1; ; count *= 2) {
      const taken = await Promise.all(Array.from({ length: count }, () => this.#takeNext()))
      if (taken.includes(false)) return
    }
  }

  /** False if nothing may start now. */
  async #takeNext(): Promise<boolean> {
    const { store, plan, ports } = this.#context
    if (this.#isClosing || ports.control.isStopRequested) return false
    const claim = await store.claim(plan.run, this.#worker)
    if (claim === null) return false
    const attempt: TaskAttempt = new TaskAttempt(claim, this.#context, {
      backoff: this.#backoff,
      gathered: () => this.#gathering,
      beginning: () => [...this.#attempts.keys()].filter((each) => each.isBeginning).length,
      isStuck: () => this.#isStuck(),
      childrenOver: () => this.#childrenOver(claim.task.id),
      settle: (...how) => this.#settle(attempt, ...how),
      withStoreRetries: (work) => this.#withStoreRetries(work),
    })
    this.#attempts.set(attempt, this.#breakOnBug(this.#seeThrough(attempt)))
    return true
  }

  /** Claims the next task without waiting for the store to announce the end of this one. */
  #settle(attempt: TaskAttempt, ...how: Parameters<StoreServices['settle']>): Promise<Settled> {
    const { store } = this.#context
    const settled = this.#withStoreRetries(() => store.settle(attempt.claim, ...how))
    if (this.#backoff.isPausing) return settled
    // In parallel, so that the store can write both in one transaction.
    const next = this.#guard('take', async () => void (await this.#takeNext()))
    next.catch(() => undefined)
    this.#nexts.set(attempt, [...(this.#nexts.get(attempt) ?? []), next])
    return settled
  }

  async #childrenOver(parent: string): Promise<void> {
    const children = [...this.#attempts].filter(([{ claim }]) => claim.task.parent === parent)
    await Promise.all(children.map(([, over]) => over))
  }

  #withStoreRetries<Result>(work: () => Promise<Result>): Promise<Result> {
    return retryStoreFailures(work, this.#context.ports.stop, this.#owner.warnings)
  }

  async #seeThrough(attempt: TaskAttempt): Promise<void> {
    try {
      await this.#guard(attempt, () => attempt.run())
      await Promise.all(this.#nexts.get(attempt) ?? [])
    } finally {
      this.#nexts.delete(attempt)
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

  /** Whether every running task waits for tasks that cannot start for lack of a slot. */
  async #isStuck(): Promise<boolean> {
    const { store, plan } = this.#context
    if (![...this.#attempts.keys()].every(({ isWaiting }) => isWaiting)) return false
    return (await store.counts(plan.run)).slotsLeft === 0
  }

  /**
   * A failing store is only a warning, because its content is safe. Returns false if it failed; `who`
   * will retry.
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
