import type {
  InboxLine,
  Lease,
  LeaseQuery,
  NewMessage,
  ReceiveStatus,
  TakeQuery,
  Taken,
} from './message.ts'
import type { Times } from './limits.ts'
import type {
  Agent,
  Claim,
  End,
  FailureClass,
  FollowUp,
  NewTask,
  Task,
  TaskBrief,
  TaskState,
} from './task.ts'

/**
 * The queues and inboxes of runs, wherever they are kept. Agents are called by their names in the
 * run; each method is all or nothing and durable once it has answered; a refusal is a `QueueError`.
 * Time and order are the store's: older is what it took in before, whatever any clock says.
 */
export interface QueueStore {
  /** How long things hold here. */
  readonly times: Times

  /** Makes `main` of a run, where it is not there yet. */
  openRun(run: string): Promise<void>
  /** Whether somebody acts for `main`, so that others may wait for it; it begins as running. */
  setMain(run: string, state: 'running' | 'idle'): Promise<void>

  /** Appends to queues; an id that is known already is passed over. */
  push(tasks: readonly NewTask[]): Promise<void>
  /**
   * Makes the oldest queued tasks of an agent ready, as many as there are free slots in the run. An
   * id that is known already starts nothing, and gets the answer that it got then.
   */
  start(run: string, agent: Agent, count?: number, id?: string): Promise<Started>
  /** Makes all of them ready, and what is pushed until none is left, so many of them at once. */
  drain(run: string, agent: Agent, width: number, id?: string): Promise<Started>
  /** Takes the oldest ready task for a worker, or nothing where none may run now. */
  claim(run: string, worker: string): Promise<Claim | null>
  /** Keeps a claim for another while. A beat that throws says nothing about the claim. */
  beat(claim: Claim): Promise<Beat>
  /**
   * Ends the attempt and, unless it is tried again, tells the parent and queues what follows, in one
   * transaction. What is refused of that is left out, and the end says so.
   */
  settle(claim: Claim, end: End, later?: Later, follow?: readonly FollowUp[]): Promise<Settled>
  /**
   * Cancels what this attempt has pushed, before it is settled to be tried again: until those at work
   * have ended, the next attempt would find their names taken.
   */
  abandon(claim: Claim): Promise<void>
  /** Lets ready tasks, by their ids, wait for so long before they may be taken; 0: no longer. */
  postpone(run: string, ids: readonly string[], ms: number): Promise<void>
  /** Every attempt of the run that is over, oldest first. */
  over(run: string): Promise<readonly Over[]>
  /** All workers and readers that have something in hand or wait. */
  hands(run: string): Promise<readonly string[]>
  /**
   * Fails what lost its worker, and takes back what readers have in hand: those known to be dead.
   * `left` says of tasks, by their ids, what there is of them.
   */
  expire(
    run: string,
    dead?: readonly string[],
    left?: ReadonlyMap<string, Left>,
  ): Promise<readonly Expired[]>
  /** Ends a task and all below it; those at work are told by their next beat. */
  cancel(run: string, name: string, why?: string, by?: Agent): Promise<Cancelled>

  /** Puts a message into the inbox of a living agent; an id that is known is passed over. */
  send(message: NewMessage): Promise<void>
  /** Hands messages to this reader and to no other, oldest first, until they are acknowledged. */
  lease(run: string, agent: Agent, query: LeaseQuery, reader: string): Promise<readonly Lease[]>
  /**
   * The same for one message of anybody, or for one of each of several senders once none of them may
   * still answer; with what each of them does, as of the same moment.
   */
  take(run: string, agent: Agent, query: TakeQuery, reader: string): Promise<Taken>
  /** Keeps what a reader has in hand for another while. */
  renew(run: string, agent: Agent, reader: string): Promise<void>
  /** Says that they arrived; false for each that is no longer this reader's. */
  ack(leases: readonly Lease[]): Promise<readonly boolean[]>
  /** Gives back all that a reader has in hand, and forgets that it waits. */
  releaseReader(reader: string): Promise<void>
  /** Takes back what readers have in hand that are known to be dead, and forgets that they wait. */
  releaseDead(run: string, dead: readonly string[]): Promise<void>
  /** Whether waiting can end: what each of these does, or all that are at work. */
  receiveStatus(run: string, agent: Agent, from?: readonly string[]): Promise<ReceiveStatus>
  /**
   * Says that an agent waits, for one message of anybody (an empty list) or until each of these has
   * answered; to be said again before `waitLeaseMs` are over.
   */
  waitFor(run: string, agent: Agent, from: readonly string[], reader: string): Promise<void>
  stopWaiting(run: string, agent: Agent, reader: string): Promise<void>

  /** Agents of a run but `main`, oldest first. */
  list(run: string, query?: ListQuery): Promise<readonly TaskBrief[]>
  /** One of them, by its id. */
  task(run: string, id: string): Promise<Task | undefined>
  inbox(run: string, agent: Agent): Promise<readonly InboxLine[]>
  counts(run: string): Promise<Counts>
  /** What is left to do in a run, or of what one agent pushed; as cheap with many tasks as with few. */
  outlook(run: string, agent?: Agent): Promise<Outlook>

  /** The present moment in the store's history, for `wait`; to be taken before one looks. */
  mark(): Promise<Mark>
  /** Resolves once something happened in the run after that mark, or when the signal aborts. */
  wait(run: string, since: Mark, signal?: AbortSignal): Promise<Mark>

  /** Proves from the history that nothing was lost or delivered twice; what is wrong, in words. */
  verify(run: string): Promise<readonly string[]>
  close(): Promise<void>
}

/** Which tasks of a run; all where nothing is said. */
export interface ListQuery {
  /** Only what this one pushed. */
  readonly agent?: Agent | undefined
  readonly states?: readonly TaskState[] | undefined
  /** Only what is ready and does not pause. */
  readonly isDue?: boolean | undefined
  /** No more than so many. */
  readonly most?: number | undefined
}

export interface Started {
  readonly started: readonly string[]
  /** How many of those that were asked for stay queued because of the cap. */
  readonly held: number
}

/** `lost`: someone else has it, or it is over. `cancelled`: stop the agent, then settle. */
export type Beat =
  | { readonly isOurs: true }
  | { readonly isOurs: false; readonly reason: 'lost' }
  | { readonly isOurs: false; readonly reason: 'cancelled'; readonly why: string }

/** A failure that does not count: it is tried again then, however often it may be. */
export interface Later {
  readonly inMs: number
}

/** `fenced`: the attempt was no longer the worker's, and nothing was written. */
export type Settled = 'ended' | 'retrying' | 'fenced'

export interface Over {
  /** Its id. */
  readonly task: string
  readonly attempt: number
  readonly how: 'success' | FailureClass
  /** Whether the task is tried again after it. */
  readonly isAgain: boolean
}

/** What is known of an attempt whose worker is gone. */
export interface Left {
  readonly output?: string | undefined
  /** What is queued where the task is not tried again. */
  readonly follow?: readonly FollowUp[] | undefined
}

export interface Expired {
  readonly task: TaskBrief
  readonly settled: Exclude<Settled, 'fenced'>
}

export interface Cancelled {
  /** Names of those that had not begun and have ended. */
  readonly ended: readonly string[]
  /** Names of those that are at work and are told. */
  readonly told: readonly string[]
}

export interface Counts {
  readonly queued: number
  readonly ready: number
  readonly running: number
  readonly ended: number
  /** Messages that nobody has acknowledged. */
  readonly messages: number
  readonly queueLeft: number
  readonly slotsLeft: number
}

export interface Outlook {
  readonly isReady: boolean
  readonly isRunning: boolean
  /** Of those at work, how many were told to stop. */
  readonly told: number
  /** Until the next task that pauses after a failure may run; null where none does. */
  readonly nextReadyInMs: number | null
}

/** A place in the store's history; only the store can read it. */
export interface Mark {
  readonly [MARK]: never
}

declare const MARK: unique symbol
