import { UserError } from '../base/errors.ts'
import { firstOf } from '../base/first-of.ts'
import type { StepNode } from '../plan/plan.ts'
import { deadHands, makeHand } from '../queue/desk.ts'
import type { QueueError } from '../queue/refusal.ts'
import type { Settled } from '../queue/store.ts'
import { Holds } from './holds.ts'
import { Pushers } from './pushers.ts'
import { despiteTrouble, isStoreGone } from './store-trouble.ts'
import { beatAll, lookAround } from './signs-of-life.ts'
import { TaskAttempt } from './task-attempt.ts'
import type { Closers } from './task-close.ts'
import { Troubles } from './troubles.ts'
import { tellUntoldEnds } from './untold-ends.ts'
import { leftOf, runningIn, tellUnfollowed } from './what-is-left.ts'
import type { CrewContext } from './work-task.ts'

/** After a store that could not be asked. */
const PAUSE_MS = 1000

/** Works off the queues of a run: takes what is ready and lets agents work at it, side by side. */
export class Crew {
  readonly #context: CrewContext
  readonly #pushers: Pushers
  readonly #worker = makeHand('w')
  readonly #closing = new AbortController()
  /** Aborts, with it, at a mistake of our own. */
  readonly #broken = new AbortController()
  readonly #holds: Holds
  readonly #attempts = new Map<TaskAttempt, Promise<void>>()
  /** What follows those that end. */
  readonly #nexts = new Map<TaskAttempt, readonly Promise<boolean>[]>()
  #beating: Timer | undefined
  /** Settles when no more can be taken at once: what is left is shared among them. */
  #gathering: Promise<unknown> = Promise.resolve()
  readonly #troubles: Troubles
  #loop: Promise<void> | undefined

  #isGone = false
  readonly #onGone: (error: QueueError) => void

  /**
   * `main` is how the agent of that name runs now, where it does; `onGone` is called where the store
   * is not there any more.
   */
  constructor(
    context: CrewContext,
    main: () => StepNode | undefined,
    onGone: (error: QueueError) => void,
  ) {
    this.#context = context
    this.#troubles = new Troubles((text) => context.ports.emit({ type: 'warning', text }))
    this.#onGone = onGone
    this.#pushers = new Pushers(context, main)
    const goOn = () => this.#orFail(this.#guard('take', () => this.#takeAll()))
    this.#holds = new Holds(context, this.#pushers, this.#closing.signal, goOn)
  }

  /** Takes over from whoever worked before, and begins. */
  async start(): Promise<void> {
    const { store, plan } = this.#context
    const dead = await deadHands(store, plan.run)
    const left = await leftOf(await runningIn(this.#context), this.#context, this.#pushers)
    const expired = await store.expire(plan.run, dead, left)
    tellUnfollowed(expired, this.#context)
    await tellUntoldEnds(this.#context, this.#pushers.main)
    await this.#holds.takeUp()
    const look = () => lookAround([...this.#attempts.keys()], this.#context, this.#pushers)
    // A claim is kept by a sign of life, well before it would be lost.
    this.#beating = setInterval(
      () => void this.#orFail(this.#guard('look', look)),
      store.times.taskLeaseMs / 3,
    )
    this.#loop = this.#orFail(this.#work())
  }

  /** Aborts, with the error as its reason, at a mistake of our own: nothing more is to be waited for. */
  get broken(): AbortSignal {
    return this.#broken.signal
  }

  /** Settles when nothing is worked at. */
  async idle(): Promise<void> {
    while (this.#attempts.size > 0 && !this.broken.aborted) {
      const all = Promise.all(this.#attempts.values())
      await firstOf({ all, broken: this.broken })
    }
    this.broken.throwIfAborted()
  }

  /** Takes nothing more, and waits for what is being worked at. */
  async end(): Promise<void> {
    this.#closing.abort()
    await this.#loop
    try {
      await this.idle()
      await this.#holds.end()
      await this.#guard('end', () => this.#context.sites.end())
    } finally {
      clearInterval(this.#beating)
    }
  }

  get #isClosing(): boolean {
    return this.#closing.signal.aborted || this.#context.ports.stop.aborted
  }

  async #work(): Promise<void> {
    while (!this.#isClosing) {
      const isDone = await this.#guard('take', () => this.#takeAndWait())
      if (!isDone) await firstOf({ pause: PAUSE_MS, closing: this.#closing.signal })
    }
  }

  async #takeAndWait(): Promise<void> {
    const { store, plan, ports } = this.#context
    const mark = await store.mark()
    const { isReady, told, nextReadyInMs } = await store.outlook(plan.run)
    const stopping = [...this.#attempts.keys()].filter(({ isStopping }) => isStopping)
    if (told > stopping.length) await beatAll([...this.#attempts.keys()], store)
    if (isReady) await this.#takeAll()
    const soon = nextReadyInMs === null ? [] : [AbortSignal.timeout(nextReadyInMs + 1)]
    const signal = AbortSignal.any([this.#closing.signal, ports.stop, ...soon])
    await store.wait(plan.run, mark, signal)
  }

  async #takeAll(): Promise<void> {
    if (this.#holds.isPausing) await this.#holds.postpone()
    const taken = this.#takeWhilePossible()
    this.#gathering = taken.catch(() => undefined)
    await taken
  }

  /** Ever more at once, so that the store can write them together. */
  async #takeWhilePossible(): Promise<void> {
    for (let count = 1; ; count *= 2) {
      const taken = await Promise.all(Array.from({ length: count }, () => this.#takeNext()))
      if (taken.includes(false)) return
    }
  }

  /** False where nothing may be begun now. */
  async #takeNext(): Promise<boolean> {
    const { store, plan, ports } = this.#context
    if (this.#isClosing || ports.control.isStopAsked) return false
    const claim = await store.claim(plan.run, this.#worker)
    if (claim === null) return false
    const attempt = new TaskAttempt(claim, this.#context, this.#pushers, {
      holds: this.#holds,
      gathered: () => this.#gathering,
      beginning: () => this.#countBeginning(),
      isStuck: () => this.#isStuck(),
      childrenOver: () => this.#childrenOver(claim.task.id),
      settle: (...how) => this.#settle(attempt, ...how),
      patiently: (work) => this.#patiently(work),
    })
    this.#attempts.set(attempt, this.#orFail(this.#seeThrough(attempt)))
    return true
  }

  #countBeginning(): number {
    let count = 0
    for (const attempt of this.#attempts.keys()) if (attempt.isBeginning) count += 1
    return count
  }

  async #childrenOver(parent: string): Promise<void> {
    const children = [...this.#attempts].filter(([{ claim }]) => claim.task.parent === parent)
    await Promise.all(children.map(([, over]) => over))
  }

  /** The next one need not wait until the store has told of the end of this one. */
  #settle(attempt: TaskAttempt, ...how: Parameters<Closers['settle']>): Promise<Settled> {
    const { store } = this.#context
    const settled = this.#patiently(() => store.settle(attempt.claim, ...how))
    if (this.#holds.isPausing) return settled
    // Asked for at once, so that the store can write both together.
    const next = this.#guard('take', async () => void (await this.#takeNext()))
    next.catch(() => undefined)
    this.#nexts.set(attempt, [...(this.#nexts.get(attempt) ?? []), next])
    return settled
  }

  #patiently<Result>(work: () => Promise<Result>): Promise<Result> {
    return despiteTrouble(work, this.#context.ports.stop, this.#troubles)
  }

  async #seeThrough(attempt: TaskAttempt): Promise<void> {
    try {
      await this.#guard(attempt, () => attempt.run())
      await Promise.all(this.#nexts.get(attempt) ?? [])
    } finally {
      this.#nexts.delete(attempt)
      this.#attempts.delete(attempt)
      this.#troubles.gaveUp(attempt)
    }
  }

  /** A mistake of our own ends the work, and is told to whoever waits for the crew. */
  async #orFail(work: Promise<unknown>): Promise<void> {
    try {
      await work
    } catch (error) {
      this.#broken.abort(error)
      this.#closing.abort()
    }
  }

  /** Whether nobody works but all wait for tasks for which they themselves leave no room. */
  async #isStuck(): Promise<boolean> {
    const { store, plan } = this.#context
    if (![...this.#attempts.keys()].every(({ isWaiting }) => isWaiting)) return false
    return (await store.counts(plan.run)).slotsLeft === 0
  }

  /**
   * A store that cannot be asked now is no end: what is in it is safe. False where it failed. `who`
   * does the same again.
   */
  async #guard(who: string | TaskAttempt, work: () => Promise<void>): Promise<boolean> {
    try {
      await work()
      this.#troubles.worked(who)
      return true
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      if (isStoreGone(error)) this.leave(error)
      else this.#troubles.failed(who, error)
      return false
    }
  }

  /** Nothing more can be taken from a store that is gone; what is worked at comes to its end. */
  leave(error: QueueError): void {
    if (this.#isGone) return
    this.#isGone = true
    this.#closing.abort()
    clearInterval(this.#beating)
    this.#onGone(error)
  }
}
