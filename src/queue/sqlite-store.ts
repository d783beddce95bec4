import type { Clock } from './clock.ts'
import { SYSTEM_CLOCK } from './clock.ts'
import type { Limits, Times } from './limits.ts'
import { DEFAULT_LIMITS, DEFAULT_TIMES } from './limits.ts'
import type { Lease, LeaseQuery, NewMessage, TakeQuery } from './message.ts'
import { abandon } from './sqlite/retry.ts'
import { beat, claim } from './sqlite/claim.ts'
import { HistoryCount } from './sqlite/history-count.ts'
import { cancel, expire, holders, setMain } from './sqlite/expire.ts'
import {
  ack,
  inbox,
  lease,
  releaseDead,
  releaseReader,
  renew,
  send,
  take,
} from './sqlite/messages.ts'
import type { JournalMode, OpenOptions } from './sqlite/open.ts'
import type { Connection } from './sqlite/connection.ts'
import { lastOf, openConnection, openToRead } from './sqlite/open.ts'
import { drain, once, openRun, push, start } from './sqlite/push.ts'
import type { StoreContext } from './sqlite/rows.ts'
import { finishedAttempts, postpone, settle } from './sqlite/settle.ts'
import { outlook } from './sqlite/outlook.ts'
import { counts, list, receiveStatus, task } from './sqlite/status.ts'
import { verify } from './sqlite/verify.ts'
import { isWaiting, stopWaiting, waitFor } from './sqlite/waiting.ts'
import { ChangeWatcher } from './sqlite/change-watcher.ts'
import type { RetryDelay, Remains, ListQuery, Mark, QueueStore } from './store.ts'
import type { Agent, Claim, End, FollowUp, NewTask } from './task.ts'

export interface SqliteOptions extends Pick<OpenOptions, 'run' | 'wasUsed'> {
  readonly limits?: Partial<Limits>
  readonly times?: Partial<Times>
  /** Whether a text contains a secret, which no name may. */
  readonly isSecret?: ((text: string) => boolean) | undefined
  /** For tests. */
  readonly clock?: Clock
  /** For tests; otherwise the version of SQLite decides. */
  readonly journal?: JournalMode
}

/**
 * Opens or creates the store in this file. Processes share it through memory (WAL), so all of them must
 * be on one machine, and the file must be on a local disk, not on NFS.
 */
export async function openSqliteStore(
  path: string,
  options: SqliteOptions = {},
): Promise<QueueStore> {
  const { journal: mode, run, wasUsed } = options
  return makeStore(await openConnection(path, { mode, run, wasUsed }), options)
}

/** Opens a store that may come from another machine, without writing. */
export async function openSqliteStoreToRead(path: string): Promise<QueueStore> {
  return makeStore(await openToRead(path), {})
}

function makeStore(
  db: Connection,
  { limits, times, isSecret, clock = SYSTEM_CLOCK }: SqliteOptions,
): QueueStore {
  return new SqliteStore({
    db,
    clock,
    limits: { ...DEFAULT_LIMITS, ...limits },
    times: { ...DEFAULT_TIMES, ...times },
    historyWrites: { count: 0 },
    isSecret,
  })
}

class SqliteStore implements QueueStore {
  readonly times: Times
  readonly #context: StoreContext
  readonly #wake: ChangeWatcher
  readonly #count: HistoryCount
  /** The history writes that were announced. */
  #rung = 0

  constructor(context: StoreContext) {
    this.times = context.times
    this.#context = context
    this.#wake = new ChangeWatcher(context.db)
    this.#count = new HistoryCount(context.db.place)
  }

  openRun = (run: string) => this.#write((context) => openRun(context, run))
  setMain = (run: string, state: 'running' | 'idle') =>
    this.#write((context) => setMain(context, run, state))

  push = (tasks: readonly NewTask[]) => this.#write((context) => push(context, tasks))
  start = (run: string, agent: Agent, count?: number, id?: string) =>
    this.#write((context) => once(context, run, id, () => start(context, run, agent, count)))
  drain = (run: string, agent: Agent, width: number, id?: string) =>
    this.#write((context) => once(context, run, id, () => drain(context, run, agent, width)))
  claim = (run: string, worker: string) => this.#write((context) => claim(context, run, worker))
  beat = (held: Claim) => this.#write((context) => beat(context, held))
  settle = (held: Claim, end: End, later?: RetryDelay, follow?: readonly FollowUp[]) =>
    this.#write((context) => settle(context, held, end, later, follow))
  abandon = (held: Claim) => this.#write((context) => abandon(context, held))
  postpone = (run: string, ids: readonly string[], ms: number) =>
    this.#write((context) => postpone(context, run, ids, ms))
  finishedAttempts = (run: string) => this.#read((context) => finishedAttempts(context, run))
  holders = (run: string) => this.#read((context) => holders(context, run))
  expire = (
    run: string,
    dead: readonly string[] = [],
    left: ReadonlyMap<string, Remains> = new Map(),
  ) => this.#write((context) => expire(context, run, dead, left))
  cancel = (run: string, name: string, why = 'cancelled', by?: Agent) =>
    this.#write((context) => cancel(context, run, name, why, by))

  send = (message: NewMessage) => this.#write((context) => send(context, message))
  lease = (run: string, agent: Agent, query: LeaseQuery, reader: string) =>
    this.#write((context) => lease(context, run, agent, query, reader))
  take = (run: string, agent: Agent, query: TakeQuery, reader: string) =>
    this.#write((context) => take(context, run, agent, query, reader))
  renew = (run: string, agent: Agent, reader: string) =>
    this.#write((context) => renew(context, run, agent, reader))
  ack = (leases: readonly Lease[]) =>
    this.#write((context) => leases.map((leased) => ack(context, leased)))
  releaseReader = (reader: string) => this.#write((context) => releaseReader(context, reader))
  releaseDead = (run: string, dead: readonly string[]) =>
    this.#write((context) => releaseDead(context, run, dead))
  waitFor = async (run: string, agent: Agent, from: readonly string[], reader: string) => {
    const wait = { run, agent, from, reader }
    if (await this.#read((context) => isWaiting(context, wait))) return
    await this.#write((context) => waitFor(context, wait))
  }
  stopWaiting = (run: string, agent: Agent, reader: string) =>
    this.#write((context) => stopWaiting(context, run, agent, reader))

  receiveStatus = (run: string, agent: Agent, from?: readonly string[]) =>
    this.#read((context) => receiveStatus(context, run, agent, from))
  list = (run: string, query?: ListQuery) => this.#read((context) => list(context, run, query))
  task = (run: string, id: string) => this.#read((context) => task(context, run, id))
  inbox = (run: string, agent: Agent) => this.#read((context) => inbox(context, run, agent))
  counts = (run: string) => this.#read((context) => counts(context, run))
  outlook = (run: string, agent?: Agent) =>
    this.#context.db.alone(() => outlook(this.#context, run, agent))
  verify = (run: string) => this.#read((context) => verify(context, run))

  mark = () => this.#wake.mark()
  wait = (run: string, since: Mark, signal?: AbortSignal) => this.#wake.wait(run, since, signal)

  async close(): Promise<void> {
    const { db } = this.#context
    await db.flush()
    this.#wake.close()
    this.#count.close()
    db.close()
  }

  #read<Result>(work: (context: StoreContext) => Result): Promise<Result> {
    return this.#context.db.read(() => work(this.#context))
  }

  async #write<Result>(work: (context: StoreContext) => Result): Promise<Result> {
    const { db, historyWrites } = this.#context
    let last = 0
    const result = await db.write(() => {
      const before = historyWrites.count
      const done = work(this.#context)
      last = historyWrites.count === before ? 0 : lastOf(db)
      return done
    })
    if (last > 0) this.#count.raise(last)
    // In a batch, the first one announces all.
    if (historyWrites.count !== this.#rung) this.#wake.changed()
    this.#rung = historyWrites.count
    return result
  }
}
