import type { Lease, ReceiveStatus } from './message.ts'
import type { QueueStore } from './store.ts'
import type { Agent } from './task.ts'

export interface ReceiveQuery {
  /** Waits until each of these has answered; absent: for one message of anybody. */
  readonly from?: readonly string[] | undefined
  /** The newest first. */
  readonly lifo?: boolean | undefined
  /** Absent: for as long as somebody could still send. */
  readonly timeoutMs?: number | undefined
}

/** How a wait came to its end. */
export interface Received {
  readonly status: 'received' | 'timeout' | 'nothing_to_wait_for' | 'deadlock' | 'stopped'
  readonly senders: ReceiveStatus['senders']
  /** The names of agents that wait for each other. */
  readonly deadlock?: readonly string[]
}

/** Waits for messages without asking the store all the time, and never for nothing. */
export class Receiver {
  readonly #store: QueueStore
  readonly #run: string
  readonly #agent: Agent
  readonly #reader: string

  constructor(store: QueueStore, run: string, agent: Agent, reader: string) {
    this.#store = store
    this.#run = run
    this.#agent = agent
    this.#reader = reader
  }

  async receive(
    query: ReceiveQuery,
    stop: AbortSignal,
  ): Promise<Received & { readonly leases: readonly Lease[] }> {
    const end = performance.now() + (query.timeoutMs ?? Infinity)
    try {
      for (;;) {
        const mark = await this.#store.mark()
        const status = await this.#store.receiveStatus(this.#run, this.#agent, query.from)
        const { senders, nothingToWaitFor, deadlock } = status
        const leases = isOver(query, status) ? await this.#take(query) : []
        if (leases.length > 0) return { status: 'received', senders, leases }
        if (nothingToWaitFor) return this.#partial('nothing_to_wait_for', query, senders)
        if (deadlock !== null)
          return { ...(await this.#partial('deadlock', query, senders)), deadlock }
        const rest = Math.min(end - performance.now(), this.#longestMs(status))
        if (rest <= 0) return this.#partial('timeout', query, senders)
        if (stop.aborted) return { status: 'stopped', senders, leases: [] }
        await this.#store.waitFor(this.#run, this.#agent, query.from ?? [], this.#reader)
        const signal = AbortSignal.any([stop, AbortSignal.timeout(Math.ceil(rest))])
        await this.#store.wait(this.#run, mark, signal)
      }
    } finally {
      await this.#store.stopWaiting(this.#run, this.#agent, this.#reader)
    }
  }

  /** A wait is said again in time, and what nobody will tell of is looked for. */
  #longestMs({ isHeld }: ReceiveStatus): number {
    const { readerLeaseMs, waitLeaseMs } = this.#store.times
    return isHeld ? Math.min(readerLeaseMs / 3, waitLeaseMs / 3) : waitLeaseMs / 3
  }

  /** One message, or one of each sender that was named. */
  async #take({ from, lifo }: ReceiveQuery): Promise<readonly Lease[]> {
    const lease = (query: { from?: readonly string[] }) =>
      this.#store.lease(this.#run, this.#agent, { ...query, lifo, max: 1 }, this.#reader)
    if (from === undefined) return lease({})
    const leases: Lease[] = []
    for (const name of new Set(from)) leases.push(...(await lease({ from: [name] })))
    return leases
  }

  /** What there is, where waiting for the rest has no end or no sense. */
  async #partial(
    status: 'timeout' | 'nothing_to_wait_for' | 'deadlock',
    query: ReceiveQuery,
    senders: ReceiveStatus['senders'],
  ) {
    return { status, senders, leases: query.from === undefined ? [] : await this.#take(query) }
  }
}

/** Whether all that is waited for is there, or will never be. */
function isOver({ from }: ReceiveQuery, { senders }: ReceiveStatus): boolean {
  return from === undefined || senders.every(({ status }) => status !== 'running')
}
