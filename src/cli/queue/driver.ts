import { UserError } from '../../base/errors.ts'
import { RunLock } from '../../journal/run-lock.ts'
import type { QueueStore } from '../../queue/store.ts'
import type { Input } from '../command.ts'
import type { StopSwitch } from '../signals.ts'
import type { Caller } from './caller.ts'
import { drive } from './run-queue.ts'
import { openStoreOf, refuseUnsound } from './store.ts'

/** How often one looks whether another process that drives the run is still there. */
const LOOK_MS = 1000

/** Works off the queue of a run behind the back of a client, where no other process does. */
export class Driver {
  readonly #input: Input
  readonly #of: Pick<Caller, 'run' | 'record'>
  readonly #stop: StopSwitch
  readonly #onBug: (error: unknown) => void
  #begun: Promise<void> | undefined
  #isWanted = false
  /** Why nobody works any more, where it became known only after the beginning. */
  trouble: UserError | undefined
  /** Settles when nothing is worked at here. */
  over: Promise<void> = Promise.resolve()

  constructor(
    input: Input,
    of: Pick<Caller, 'run' | 'record'>,
    stop: StopSwitch,
    onBug: (error: unknown) => void,
  ) {
    this.#input = input
    this.#of = of
    this.#stop = stop
    this.#onBug = onBug
  }

  get isAtWork(): boolean {
    return this.#begun !== undefined
  }

  /** Settles once somebody works at what is started; fails where nobody can. */
  begin(): Promise<void> {
    this.#isWanted = true
    this.trouble = undefined
    if (this.#begun !== undefined) return this.#begun
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#begun = promise
    this.over = this.#work(resolve).catch((error: unknown) => {
      this.#begun = undefined
      reject(error)
      if (error instanceof UserError) this.trouble = error
      else this.#onBug(error)
    })
    return promise
  }

  async #work(tellBegun: () => void): Promise<void> {
    const { run, record } = this.#of
    const { stop } = this.#stop
    await refuseUnsound(run, record)
    const store = await openStoreOf(record)
    try {
      for (;;) {
        this.#isWanted = false
        const mark = await store.mark()
        const { ready, running } = await store.counts(run)
        if (stop.aborted || (ready + running === 0 && !this.#isWanted)) break
        if (ready + running === 0) continue
        const lock = RunLock.take(record)
        if (lock instanceof RunLock) {
          const isStopped = await this.#drive(store, lock, tellBegun)
          if (isStopped && !this.#isWanted) break
          continue
        }
        tellBegun()
        await store.wait(run, mark, AbortSignal.any([stop, AbortSignal.timeout(LOOK_MS)]))
      }
      this.#begun = undefined
      tellBegun()
    } finally {
      await store.close()
    }
  }

  /** True where somebody has stopped the queue. */
  async #drive(store: QueueStore, lock: RunLock, tellBegun: () => void): Promise<boolean> {
    const begun = async () => {
      // The client acts for it: others may wait for what it sends.
      await store.setMain(this.#of.run, 'running')
      tellBegun()
    }
    try {
      const unseen = { stop: this.#stop, begun }
      const mayKill = this.#input.flag('kill-orphans')
      return (await drive(this.#input, this.#of, lock, mayKill, unseen)) !== undefined
    } finally {
      lock.release()
    }
  }
}
