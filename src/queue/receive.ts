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

/** The agent that receives, and the reader that its messages are leased to. */
export interface Receiver {
  readonly run: string
  readonly agent: Agent
  readonly reader: string
}

type ReceivedLeases = Received & { readonly leases: readonly Lease[] }

/** Waits for messages, but only as long as one can come. */
export async function receive(
  store: QueueStore,
  receiver: Receiver,
  query: ReceiveQuery,
  stop: AbortSignal,
): Promise<ReceivedLeases> {
  const { run, agent, reader } = receiver
  const { readerLeaseMs, waitLeaseMs } = store.times
  const end = performance.now() + (query.timeoutMs ?? Infinity)
  try {
    for (;;) {
      const mark = await store.mark()
      const rest = end - performance.now()
      const late = rest <= 0 ? 'timeout' : stop.aborted ? 'stopped' : undefined
      const status = await store.receiveStatus(run, agent, query.from)
      // `take` writes, so it is called only if the wait may end.
      const { nothingToWaitFor, deadlock, isHeld } = status
      const mayEnd = late !== undefined || nothingToWaitFor || deadlock !== null
      const received =
        mayEnd || isOver(query, status) ? await take(store, receiver, query, late) : undefined
      if (received !== undefined) return received
      await store.waitFor(run, agent, query.from ?? [], reader)
      // Wakes up to renew the wait, and to notice messages that come back from a dead reader.
      const longest = Math.min(rest, waitLeaseMs / 3, isHeld ? readerLeaseMs / 3 : Infinity)
      const signal = AbortSignal.any([stop, AbortSignal.timeout(Math.ceil(longest))])
      await store.wait(run, mark, signal)
    }
  } finally {
    await store.stopWaiting(run, agent, reader)
  }
}

/** How the wait has ended, if it has. */
async function take(
  store: QueueStore,
  { run, agent, reader }: Receiver,
  { from, lifo }: ReceiveQuery,
  late: 'timeout' | 'stopped' | undefined,
): Promise<ReceivedLeases | undefined> {
  const query = { from, lifo, isLast: late !== undefined }
  const taken = await store.take(run, agent, query, reader)
  const { senders, leases, nothingToWaitFor, deadlock } = taken
  if (leases.length > 0 && isOver(query, taken)) return { status: 'received', senders, leases }
  if (nothingToWaitFor) return { status: 'nothing_to_wait_for', senders, leases }
  if (deadlock !== null) return { status: 'deadlock', senders, leases, deadlock }
  return late === undefined ? undefined : { status: late, senders, leases }
}
