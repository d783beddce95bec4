import { haveAllAnswered, type Lease, type ReceiveStatus, type TakeQuery } from './message.ts'
import type { QueueStore } from './store.ts'
import type { Agent } from './task.ts'

export interface ReceiveQuery extends Omit<TakeQuery, 'isLast'> {
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

/** Waits for messages, but only while one can still arrive. */
export async function receive(
  store: QueueStore,
  { run, agent, reader }: Receiver,
  { from, lifo, timeoutMs = Infinity }: ReceiveQuery,
  stop: AbortSignal,
): Promise<Received & { readonly leases: readonly Lease[] }> {
  const { readerLeaseMs, waitLeaseMs } = store.times
  const end = performance.now() + timeoutMs
  try {
    for (;;) {
      const mark = await store.mark()
      const rest = end - performance.now()
      const late = rest <= 0 ? 'timeout' : stop.aborted ? 'stopped' : undefined
      const query = { from, lifo, isLast: late !== undefined }
      const taken = await store.take(run, agent, query, reader)
      const { senders, leases, nothingToWaitFor, deadlock, isHeld } = taken
      if (leases.length > 0 && haveAllAnswered(query, taken))
        return { status: 'received', senders, leases }
      if (nothingToWaitFor) return { status: 'nothing_to_wait_for', senders, leases }
      if (deadlock !== null) return { status: 'deadlock', senders, leases, deadlock }
      if (late !== undefined) return { status: late, senders, leases }
      // Wakes up to renew the wait, and to notice messages that come back from a dead reader.
      const longest = Math.min(rest, waitLeaseMs / 3, isHeld ? readerLeaseMs / 3 : Infinity)
      const signal = AbortSignal.any([stop, AbortSignal.timeout(Math.ceil(longest))])
      await store.wait(run, mark, signal)
    }
  } finally {
    await store.stopWaiting(run, agent, reader)
  }
}
