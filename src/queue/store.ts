import type { InboxLine, Lease, LeaseQuery, NewMessage, TakeQuery, Taken } from './message.ts'
import type { QueueTimes } from './limits.ts'
import type {
  Agent,
  TaskClaim,
  TaskEnd,
  FailureClass,
  FollowUp,
  NewQueuedTask,
  QueuedTask,
  TaskBrief,
  TaskState,
} from './task.ts'

/**
 * The queues and inboxes of runs. Each method is one transaction and durable once it resolves; a
 * refusal is a `QueueError`. Order is the order of insertion, independent of any clock.
 */
export interface QueueStore {
  readonly times: QueueTimes

  /** Creates the agents of steps that do not exist: `main`, and those in branches. Initially, they are running. */
  openRun(run: string, inBranches?: readonly string[]): Promise<void>
  /** Whether the agent of a step is working, so that others may wait for it. */
  setStepAgent(run: string, name: string, state: StepAgent['state']): Promise<void>
  /** The agents of steps, `main` first. */
  stepAgents(run: string): Promise<readonly StepAgent[]>

  /** Appends to queues; tasks with a known id are skipped. */
  push(tasks: readonly NewQueuedTask[]): Promise<void>
  /**
   * Makes the oldest queued tasks of an agent ready, up to the free slots of the run. A call with a known
   * id starts nothing and returns the earlier answer.
   */
  start(run: string, agent: Agent, count?: number, id?: string): Promise<Started>
  /** Makes all of them ready, including later pushes until the queue is empty; `width` run at a time. */
  drain(run: string, agent: Agent, width: number, id?: string): Promise<Started>
  /** Claims the oldest ready task for a worker; null if none may run now. */
  claim(run: string, worker: string): Promise<TaskClaim | null>
  /** Renews a claim. An error says nothing about the claim. */
  heartbeat(claim: TaskClaim): Promise<HeartbeatAnswer>
  /**
   * Ends the attempt and, unless it is retried, sends the result to the parent and queues the follow-up
   * tasks, in one transaction. Refused follow-up tasks are listed in the end.
   */
  settle(
    claim: TaskClaim,
    end: TaskEnd,
    later?: RetryDelay,
    follow?: readonly FollowUp[],
  ): Promise<Settled>
  /**
   * Cancels what this attempt has pushed before it is retried: until those tasks have ended, their names
   * are taken.
   */
  abandon(claim: TaskClaim): Promise<void>
  /** Keeps ready tasks, by id, from being claimed for `ms`; 0 ends the delay. */
  postpone(run: string, ids: readonly string[], ms: number): Promise<void>
  /** Every finished attempt of the run, oldest first. */
  finishedAttempts(run: string): Promise<readonly FinishedAttempt[]>
  /** All workers and readers that hold a claim or lease, or wait. */
  holders(run: string): Promise<readonly string[]>
  /**
   * Fails tasks whose worker is gone and takes back messages from dead readers. `left` has what remains
   * of each task, by id.
   */
  expire(
    run: string,
    dead?: readonly string[],
    left?: ReadonlyMap<string, Remains>,
  ): Promise<readonly Expired[]>
  /** Ends a task and its descendants; running ones learn of it from their next heartbeat. */
  cancel(run: string, name: string, why?: string, by?: Agent): Promise<Cancelled>

  /** Sends to the inbox of a live agent; a known id is skipped. */
  send(message: NewMessage): Promise<void>
  /** Leases messages to this reader, oldest first, until they are acknowledged. */
  lease(run: string, agent: Agent, query: LeaseQuery, reader: string): Promise<readonly Lease[]>
  /**
   * Leases one message from anyone, or one from each of several senders once none of them may still
   * answer; otherwise records that the agent waits for them, for `waitLeaseMs`. Returns the status of the
   * senders (default: all running agents) before that.
   */
  take(run: string, agent: Agent, query: TakeQuery, reader: string): Promise<Taken>
  renew(run: string, agent: Agent, reader: string): Promise<void>
  /** Deletes delivered messages; false for each whose lease this reader has lost. */
  ack(leases: readonly Lease[]): Promise<readonly boolean[]>
  /** Returns all messages of these readers to their inboxes, and ends their waits. */
  releaseReaders(readers: readonly string[]): Promise<void>
  /** Ends the wait that `take` recorded. */
  stopWaiting(run: string, agent: Agent, reader: string): Promise<void>

  /** Tasks of a run, oldest first. */
  list(run: string, query?: ListQuery): Promise<readonly TaskBrief[]>
  task(run: string, id: string): Promise<QueuedTask | undefined>
  inbox(run: string, agent: Agent): Promise<readonly InboxLine[]>
  counts(run: string): Promise<Counts>
  /** What is left to do in a run; takes the same time for any number of tasks. */
  outlook(run: string): Promise<Outlook>
  /** Whether tasks that an agent has started, or their descendants, have not ended. */
  isAwaiting(run: string, agent: Agent): Promise<boolean>

  /** The current position in the history, for `wait`; take it before reading. */
  mark(): Promise<Mark>
  /** Resolves once something happened in the run after that mark, or when the signal aborts. */
  wait(run: string, since: Mark, signal?: AbortSignal): Promise<Mark>

  /** Checks against the history that nothing was lost or delivered twice; returns the problems. */
  verify(run: string): Promise<readonly string[]>
  close(): Promise<void>
}

/** The agent of a step; it never ends, and is `idle` while it is not working. */
export interface StepAgent {
  readonly name: string
  readonly state: 'running' | 'idle'
}

export interface ListQuery {
  /** Only tasks that this agent pushed. */
  readonly agent?: Agent | undefined
  readonly states?: readonly TaskState[] | undefined
  /** Only ready tasks that are not delayed. */
  readonly isDue?: boolean | undefined
}

export interface Started {
  readonly started: readonly string[]
  /** How many of the requested tasks stay queued because of the limit. */
  readonly held: number
}

/** `lost`: another worker has it, or it has ended. `cancelled`: stop the agent, then settle. */
export type HeartbeatAnswer =
  | { readonly isOurs: true }
  | { readonly isOurs: false; readonly reason: 'lost' }
  | { readonly isOurs: false; readonly reason: 'cancelled'; readonly why: string }

/** A failure that does not count as a retry: the task is repeated after this delay. */
export interface RetryDelay {
  readonly inMs: number
}

/** `fenced`: the attempt was no longer the worker's, and nothing was written. */
export type Settled = 'ended' | 'retrying' | 'fenced'

export interface FinishedAttempt {
  /** Its id. */
  readonly task: string
  readonly attempt: number
  readonly how: 'success' | FailureClass
  readonly willRetry: boolean
}

/** What remains of an attempt whose worker is gone. */
export interface Remains {
  readonly output?: string | undefined
  /** Queued if the task is not retried. */
  readonly follow?: readonly FollowUp[] | undefined
}

export interface Expired {
  readonly task: TaskBrief
  readonly settled: Exclude<Settled, 'fenced'>
}

export interface Cancelled {
  /** Names of tasks that were not running and have ended. */
  readonly ended: readonly string[]
  /** Names of running tasks that will be stopped. */
  readonly told: readonly string[]
}

export interface Counts {
  readonly queued: number
  readonly ready: number
  readonly running: number
  readonly ended: number
  readonly messages: number
  readonly queueLeft: number
  readonly slotsLeft: number
}

export interface Outlook {
  readonly isReady: boolean
  readonly isRunning: boolean
  /** How many running tasks are cancelled. */
  readonly cancelling: number
  /** Until the next delayed task may run; null if there is none. */
  readonly nextReadyInMs: number | null
}

/** A place in the store's history; only the store can read it. */
export interface Mark {
  readonly [MARK]: never
}

declare const MARK: unique symbol

/** Counts of a run's tasks by state, and of unread messages for the agents of steps. */
export interface QueueSummary {
  readonly queued: number
  readonly ready: number
  readonly running: number
  readonly failed: number
  /** Failed tasks that were pushed again and are done now. */
  readonly redone: number
  /** Other failed tasks that were cancelled. */
  readonly cancelled: number
  readonly done: number
  readonly unread: number
}

/** The store exists but cannot be read. */
export interface Unreadable {
  readonly why: string
}
