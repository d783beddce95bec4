import { isOver, type Lease, type ReceiveStatus } from './message.ts'
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
        const rest = end - performance.now()
        const late = rest <= 0 ? 'timeout' : stop.aborted ? 'stopped' : undefined
        const received = await this.#look(query, late)
        if (received !== undefined) return received
        await this.#store.waitFor(this.#run, this.#agent, query.from ?? [], this.#reader)
        // A wait is said again before the store forgets it.
        const longest = Math.min(rest, this.#store.times.readerLeaseMs / 3)
        const signal = AbortSignal.any([stop, AbortSignal.timeout(Math.ceil(longest))])
        await this.#store.wait(this.#run, mark, signal)
      }
    } finally {
      await this.#store.stopWaiting(this.#run, this.#agent, this.#reader)
    }
  }

  /** How the wait has ended, if it has: by what is there, or because it is `late`. */
  async #look(
    { from, lifo }: ReceiveQuery,
    late: 'timeout' | 'stopped' | undefined,
  ): Promise<(Received & { readonly leases: readonly Lease[] }) | undefined> {
    const query = { from, lifo, isLast: late !== undefined }
    const status = await this.#store.receiveStatus(this.#run, this.#agent, from)
    // Nothing is written for one who will go on waiting.
    if (late === undefined && !isEnd(query, status)) return undefined
    const taken = await this.#store.take(this.#run, this.#agent, query, this.#reader)
    const { senders, leases, nothingToWaitFor, deadlock } = taken
    if (leases.length > 0 && isOver(query, taken)) return { status: 'received', senders, leases }
    if (nothingToWaitFor) return { status: 'nothing_to_wait_for', senders, leases }
    if (deadlock !== null) return { status: 'deadlock', senders, leases, deadlock }
    return late === undefined ? undefined : { status: late, senders, leases }
  }
}

function isEnd(query: ReceiveQuery, status: ReceiveStatus): boolean {
  return isOver(query, status) || status.nothingToWaitFor || status.deadlock !== null
}
