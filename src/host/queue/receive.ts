import { pollWithBackoff } from '../../base/backoff.ts'
import type { Delivery } from '../../queue/client.ts'
import type { Received, ReceiveQuery } from '../../queue/receive.ts'
import { isDriven, type OpenQueue } from './caller.ts'

/** How often a waiting caller checks whether any process drives the queue. */
const LOOK_MS = { first: 2000, longest: 60_000 }

/** Ends the wait if no process drives the queue, because then no answer can come. */
export async function receiveWhileDriven(
  opened: OpenQueue,
  query: ReceiveQuery,
  stop: AbortSignal,
  isWorkedAt: () => boolean = () => isDriven(opened),
): Promise<Received & Delivery> {
  const alone = new AbortController()
  const look = () => {
    if (!isWorkedAt()) alone.abort()
  }
  look()
  const stopLooking = pollWithBackoff(look, LOOK_MS.first, LOOK_MS.longest)
  try {
    const received = await opened.client.receive(query, AbortSignal.any([stop, alone.signal]))
    const isAlone = received.status === 'stopped' && !stop.aborted
    return isAlone ? { ...received, status: 'nothing_to_wait_for' } : received
  } finally {
    stopLooking()
  }
}
