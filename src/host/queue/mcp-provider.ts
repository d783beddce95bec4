import { UserError } from '../../base/errors.ts'
import { statOf } from '../../base/files.ts'
import { MAIN } from '../../queue/task.ts'
import type { QueueProvider, QueueSession } from '../../queue/tools/provider.ts'
import { isDriven, type RunLock } from '../../records/journal/run-lock.ts'
import { runSession } from '../run-session.ts'
import type { StopSwitch } from '../stop-switch.ts'
import { withQueueClient, type QueueCaller, type OpenQueue, type QueueRequest } from './caller.ts'
import { checkAgent } from './check-agent.ts'
import { driveQueue, driveUntilDone, receiveWhileDriven, type Driven } from './drive.ts'
import { openStoreOf, refuseUnsound } from './store.ts'

interface Server {
  readonly request: QueueRequest
  /** Whether processes that a dead run left may be killed. */
  readonly mayKill: boolean
  readonly stop: StopSwitch
  readonly onBug: (error: unknown) => void
}

/** The queues for the calls of one MCP client. */
export class McpQueueProvider implements QueueProvider {
  readonly #server: Server
  readonly #drivers = new Map<string, Driver>()
  readonly #open = new Set<Promise<unknown>>()
  #entering: Promise<void> = Promise.resolve()
  #run: Pick<QueueCaller, 'run' | 'record'> | undefined

  constructor(server: Server) {
    this.#server = server
  }

  use<Result>(
    access: 'create-run' | 'existing',
    work: (session: QueueSession) => Promise<Result>,
    withoutQueue: () => Result,
  ): Promise<Result> {
    const using = this.#use(access, work, withoutQueue)
    this.#open.add(using)
    const over = () => this.#open.delete(using)
    using.then(over, over)
    return using
  }

  checkAgent(name: string): Promise<void> {
    return checkAgent(this.#sameRun(), name)
  }

  warn(text: string): void {
    this.#server.request.frontEnd.notice(`Warning: ${text}`)
  }

  /** Stops what was started here and returns undelivered messages to the inbox. */
  async close(): Promise<void> {
    const { stop } = this.#server
    if (!stop.stop.aborted) stop.press('SIGTERM', 'disconnected from its MCP client')
    await Promise.allSettled(this.#open)
    await Promise.all([...this.#drivers.values()].map((driver) => driver.over))
  }

  /** Calls are serialised, so that no two of them open separate runs. */
  async #use<Result>(
    access: 'create-run' | 'existing',
    work: (session: QueueSession) => Promise<Result>,
    withoutQueue: () => Result,
  ): Promise<Result> {
    const before = this.#entering
    const entered = Promise.withResolvers<void>()
    this.#entering = entered.promise
    await before
    const enter = (opened: OpenQueue) => {
      const { run, record } = opened
      this.#run = { run, record }
      entered.resolve()
      return work(this.#sessionFor(opened))
    }
    try {
      return await withQueueClient(this.#sameRun(), access, enter, withoutQueue)
    } finally {
      entered.resolve()
    }
  }

  /** A conversation stays with its run even if a newer run starts. */
  #sameRun(): QueueRequest {
    const { request } = this.#server
    if (this.#run !== undefined && statOf(this.#run.record) === undefined) this.#run = undefined
    return { ...request, run: this.#run?.run ?? request.run }
  }

  #sessionFor(opened: OpenQueue): QueueSession {
    const { client, isInside, run, record } = opened
    const driver = () => this.#drivers.get(record)
    return {
      client,
      begin: async () => {
        if (isInside) return
        if (driver() === undefined) {
          this.#drivers.set(record, new Driver(this.#server, { run, record }))
        }
        await driver()!.begin()
      },
      receive: async (query, signal) => {
        const isProcessed = () => driver()?.isRunning === true || isDriven(opened.record)
        const received = await receiveWhileDriven(opened, query, signal, isProcessed)
        const failure = driver()?.failure
        const isFruitless =
          received.status === 'nothing_to_wait_for' && received.messages.length === 0
        if (isFruitless && failure !== undefined) throw failure
        return received
      },
    }
  }
}

/** Processes the queue of a run in the background, if no other process does. */
class Driver {
  readonly #server: Server
  readonly #of: Pick<QueueCaller, 'run' | 'record'>
  #starting: Promise<void> | undefined
  #isWanted = false
  /** Why processing stopped. */
  failure: UserError | undefined
  /** Settles when nothing runs here. */
  over: Promise<void> = Promise.resolve()

  constructor(server: Server, of: Pick<QueueCaller, 'run' | 'record'>) {
    this.#server = server
    this.#of = of
  }

  get isRunning(): boolean {
    return this.#starting !== undefined
  }

  /** Resolves once a process runs the started tasks; rejects if none can. */
  begin(): Promise<void> {
    this.#isWanted = true
    this.failure = undefined
    if (this.#starting !== undefined) return this.#starting
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#starting = promise
    this.over = this.#work(resolve).catch((error: unknown) => {
      this.#starting = undefined
      reject(error)
      if (error instanceof UserError) this.failure = error
      else this.#server.onBug(error)
    })
    return promise
  }

  async #work(onStarted: () => void): Promise<void> {
    const { run, record } = this.#of
    const { stop } = this.#server.stop
    const { env } = this.#server.request.frontEnd
    await refuseUnsound(run, record, env)
    const store = await openStoreOf(record, env)
    const driven = { store, run, record }
    const whileOthersDrive = () => {
      onStarted()
      return stop
    }
    try {
      while (this.#isWanted && !stop.aborted) {
        this.#isWanted = false
        const drive = (lock: RunLock) => this.#drive(driven, lock, onStarted)
        await driveUntilDone(driven, undefined, drive, whileOthersDrive)
      }
      this.#starting = undefined
      onStarted()
    } finally {
      await store.close()
    }
  }

  #drive(driven: Driven, lock: RunLock, onStarted: () => void): ReturnType<typeof driveQueue> {
    const { request, mayKill, stop } = this.#server
    return driveQueue(request.frontEnd, driven, lock, mayKill, (ready, work) =>
      runSession(ready, {
        ...ready.session,
        stop: stop.stop,
        force: stop.force,
        ownsProcess: true,
        view: () => ({ show: () => undefined, output: () => undefined }),
        work: async (plan, ports) => {
          // The MCP client acts as `main`, so agents may wait for its messages.
          await driven.store.setStepAgent(driven.run, MAIN, 'running')
          onStarted()
          await work(plan, ports)
        },
      }),
    )
  }
}
