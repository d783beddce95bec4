import { UserError } from '../../base/errors.ts'
import { RunLock } from '../../records/journal/run-lock.ts'
import type { QueueStore } from '../../queue/store.ts'
import type { FrontEnd } from '../front-end.ts'
import { runSession } from '../run-session.ts'
import type { StopSwitch } from '../stop-switch.ts'
import type { Caller } from './caller.ts'
import { driveQueue } from './drive.ts'
import { openStoreOf, refuseUnsound } from './store.ts'

/** How often to check whether another process that drives the run is still alive. */
const LOOK_MS = 1000

/** Processes the queue of a run in the background of an MCP server, if no other process does. */
export class Driver {
  readonly #frontEnd: FrontEnd
  readonly #mayKill: boolean
  readonly #of: Pick<Caller, 'run' | 'record'>
  readonly #stop: StopSwitch
  readonly #onBug: (error: unknown) => void
  #begun: Promise<void> | undefined
  #isWanted = false
  /** Why processing has stopped after it had started. */
  trouble: UserError | undefined
  /** Settles when nothing runs here. */
  over: Promise<void> = Promise.resolve()

  constructor(
    frontEnd: FrontEnd,
    mayKill: boolean,
    of: Pick<Caller, 'run' | 'record'>,
    stop: StopSwitch,
    onBug: (error: unknown) => void,
  ) {
    this.#frontEnd = frontEnd
    this.#mayKill = mayKill
    this.#of = of
    this.#stop = stop
    this.#onBug = onBug
  }

  get isAtWork(): boolean {
    return this.#begun !== undefined
  }

  /** Resolves once a process runs the started tasks; rejects if none can. */
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

  async #work(onBegun: () => void): Promise<void> {
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
          const isStopped = await this.#drive(store, lock, onBegun)
          if (isStopped && !this.#isWanted) break
          continue
        }
        onBegun()
        await store.wait(run, mark, AbortSignal.any([stop, AbortSignal.timeout(LOOK_MS)]))
      }
      this.#begun = undefined
      onBegun()
    } finally {
      await store.close()
    }
  }

  /** True if the queue was stopped. */
  async #drive(store: QueueStore, lock: RunLock, onBegun: () => void): Promise<boolean> {
    const begun = async () => {
      // The MCP client acts as `main`, so agents may wait for its messages.
      await store.setMain(this.#of.run, 'running')
      onBegun()
    }
    const { stop, force } = this.#stop
    const view = { show: () => undefined, output: () => undefined }
    try {
      const stopped = await driveQueue(
        this.#frontEnd,
        this.#of,
        lock,
        this.#mayKill,
        (ready, work) =>
          runSession(ready, {
            ...ready.session,
            stop,
            force,
            ownsProcess: true,
            view: () => view,
            work: async (plan, ports) => {
              await begun()
              await work(plan, ports)
            },
          }),
      )
      return stopped !== undefined
    } finally {
      lock.release()
    }
  }
}
