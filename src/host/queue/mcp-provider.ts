import { statOf } from '../../base/files.ts'
import type { QueueProvider, QueueSession } from '../../queue/tools/provider.ts'
import type { StopSwitch } from '../stop-switch.ts'
import {
  isDriven,
  withQueueClient,
  type Caller,
  type OpenQueue,
  type QueueRequest,
} from './caller.ts'
import { checkAgent } from './check-agent.ts'
import { Driver } from './driver.ts'
import { receiveWhileDriven } from './receive.ts'

/** The queues for the calls of one MCP client. */
export class McpQueueProvider implements QueueProvider {
  readonly #request: QueueRequest
  readonly #mayKill: boolean
  readonly #stop: StopSwitch
  readonly #onBug: (error: unknown) => void
  readonly #drivers = new Map<string, Driver>()
  readonly #open = new Set<Promise<unknown>>()
  #entering: Promise<void> = Promise.resolve()
  #run: Pick<Caller, 'run' | 'record'> | undefined

  constructor(
    request: QueueRequest,
    mayKill: boolean,
    stop: StopSwitch,
    onBug: (error: unknown) => void,
  ) {
    this.#request = request
    this.#mayKill = mayKill
    this.#stop = stop
    this.#onBug = onBug
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
    this.#request.frontEnd.notice(`Warning: ${text}`)
  }

  /** Stops what was started here and returns undelivered messages to the inbox. */
  async close(): Promise<void> {
    if (!this.#stop.stop.aborted) this.#stop.press('SIGTERM', 'disconnected from its MCP client')
    await Promise.allSettled(this.#open)
    await Promise.all([...this.#drivers.values()].map((driver) => driver.over))
  }

  /** Calls enter one at a time, so that no two of them open separate runs. */
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

  /** A conversation stays with its run even if a newer one starts. */
  #sameRun(): QueueRequest {
    const isThere = this.#run !== undefined && statOf(this.#run.record) !== undefined
    if (!isThere) this.#run = undefined
    return { ...this.#request, run: this.#run?.run ?? this.#request.run }
  }

  #sessionFor(opened: OpenQueue): QueueSession {
    const { client, isInside, record } = opened
    return {
      client,
      begin: async () => {
        if (!isInside) await this.#driverOf(opened).begin()
      },
      receive: async (query, signal) => {
        const driver = () => this.#drivers.get(record)
        const isWorkedAt = () => driver()?.isAtWork === true || isDriven(opened)
        const received = await receiveWhileDriven(opened, query, signal, isWorkedAt)
        const trouble = driver()?.trouble
        const isInVain = received.status === 'nothing_to_wait_for' && received.messages.length === 0
        if (isInVain && trouble !== undefined) throw trouble
        return received
      },
    }
  }

  #driverOf({ run, record }: OpenQueue): Driver {
    const known = this.#drivers.get(record)
    if (known !== undefined) return known
    const driver = new Driver(
      this.#request.frontEnd,
      this.#mayKill,
      { run, record },
      this.#stop,
      this.#onBug,
    )
    this.#drivers.set(record, driver)
    return driver
  }
}
