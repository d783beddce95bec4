import { isOver, type Lease, type ReceiveStatus } from './message.ts'
import type { QueueStore } from './store.ts'
import type { Agent } from './task.ts'

export interface ReceiveQuery {
  /** Waits until each of these has answered; default: for one message from anyone. */
  readonly from?: readonly string[] | undefined
  /** The newest first. */
  readonly lifo?: boolean | undefined
  /** Default: as long as anyone can still send. */
  readonly timeoutMs?: number | undefined
}

/** How a wait ended. */
export interface Received {
  readonly status: 'received' | 'timeout' | 'nothing_to_wait_for' | 'deadlock' | 'stopped'
  readonly senders: ReceiveStatus['senders']
  /** The names of agents that wait for each other. */
  readonly deadlock?: readonly string[]
}

/** Waits for messages without polling, and never if none can come. */
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
        const rest = end - performance.now()
        const late = rest <= 0 ? 'timeout' : stop.aborted ? 'stopped' : undefined
        const status = await this.#store.receiveStatus(this.#run, this.#agent, query.from)
        // `take` writes, so it is called only if the wait may end.
        const isEnd = late !== undefined || mayEnd(query, status)
        const received = isEnd ? await this.#take(query, late) : undefined
        if (received !== undefined) return received
        await this.#store.waitFor(this.#run, this.#agent, query.from ?? [], this.#reader)
        const longest = Math.min(rest, this.#longestMs(status))
        const signal = AbortSignal.any([stop, AbortSignal.timeout(Math.ceil(longest))])
        await this.#store.wait(this.#run, mark, signal)
      }
    } finally {
      await this.#store.stopWaiting(this.#run, this.#agent, this.#reader)
    }
  }

  /** Short enough to renew the wait, and to notice messages that come back from a dead reader. */
  #longestMs({ isHeld }: ReceiveStatus): number {
    const { readerLeaseMs, waitLeaseMs } = this.#store.times
    return isHeld ? Math.min(readerLeaseMs / 3, waitLeaseMs / 3) : waitLeaseMs / 3
  }

  /** How the wait has ended, if it has. */
  async #take(
    { from, lifo }: ReceiveQuery,
    late: 'timeout' | 'stopped' | undefined,
  ): Promise<(Received & { readonly leases: readonly Lease[] }) | undefined> {
    const query = { from, lifo, isLast: late !== undefined }
    const taken = await this.#store.take(this.#run, this.#agent, query, this.#reader)
    const { senders, leases, nothingToWaitFor, deadlock } = taken
    if (leases.length > 0 && isOver(query, taken)) return { status: 'received', senders, leases }
    if (nothingToWaitFor) return { status: 'nothing_to_wait_for', senders, leases }
    if (deadlock !== null) return { status: 'deadlock', senders, leases, deadlock }
    return late === undefined ? undefined : { status: late, senders, leases }
  }
}

function mayEnd(query: ReceiveQuery, status: ReceiveStatus): boolean {
  return isOver(query, status) || status.nothingToWaitFor || status.deadlock !== null
}
