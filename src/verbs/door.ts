import type { Delivery, Desk } from '../queue/desk.ts'
import type { Received, ReceiveQuery } from '../queue/receive.ts'

/** The queue and the inbox of the agent for whom a call acts. */
export interface Seat {
  readonly desk: Desk
  /** Sees to it that what is started is worked at. */
  begin(): Promise<void>
  /** Waits as the desk does, and no longer than anybody works at the queue. */
  receive(query: ReceiveQuery, signal: AbortSignal): Promise<Received & Delivery>
}

/** Leads to the queues of a run. */
export interface QueueDoor {
  /** They are made where `makes` says so; otherwise `nothing` answers where there are none yet. */
  use<Result>(
    makes: 'makes' | 'looks',
    work: (seat: Seat) => Promise<Result>,
    nothing: () => Result,
  ): Promise<Result>
  /** Throws a `UserError` where no agent of that name could work at a task. */
  checkAgent(name: string): Promise<void>
  /** Tells whoever looks after the server; the client has its answer already. */
  warn(text: string): void
}
