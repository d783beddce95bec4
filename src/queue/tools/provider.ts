import type { Delivery, QueueClient } from '../client.ts'
import type { Received, ReceiveQuery } from '../receive.ts'

/** The queue and inbox of the calling agent. */
export interface QueueSession {
  readonly client: QueueClient
  /** Makes sure that a process runs the started tasks. */
  begin(): Promise<void>
  /** Like `client.receive`, but ends if no process drives the queue. */
  receive(query: ReceiveQuery, signal: AbortSignal): Promise<Received & Delivery>
}

/** Gives tools access to the queues of a run. */
export interface QueueProvider {
  /** `create-run` creates a missing queue; otherwise `withoutQueue` answers if there is none. */
  use<Result>(
    access: 'create-run' | 'existing',
    work: (session: QueueSession) => Promise<Result>,
    withoutQueue: () => Result,
  ): Promise<Result>
  /** Throws a `UserError` if there is no such agent. */
  checkAgent(name: string): Promise<void>
  /** For the operator, because the client already has its answer. */
  warn(text: string): void
}
