import type { Clock } from './clock.ts'
import { SYSTEM_CLOCK } from './clock.ts'
import type { Limits, Times } from './limits.ts'
import { DEFAULT_LIMITS, DEFAULT_TIMES } from './limits.ts'
import type { Lease, LeaseQuery, NewMessage, TakeQuery } from './message.ts'
import { abandon } from './sqlite/again.ts'
import { beat, claim } from './sqlite/claim.ts'
import { Count } from './sqlite/count.ts'
import { cancel, expire, hands, setMain } from './sqlite/expire.ts'
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
import type { Books } from './sqlite/rows.ts'
import { over, postpone, settle } from './sqlite/settle.ts'
import { outlook } from './sqlite/outlook.ts'
import { counts, list, receiveStatus, task } from './sqlite/status.ts'
import { verify } from './sqlite/verify.ts'
import { isWaiting, stopWaiting, waitFor } from './sqlite/waiting.ts'
import { Wake } from './sqlite/wake.ts'
import type { Later, Left, ListQuery, Mark, QueueStore } from './store.ts'
import type { Agent, Claim, End, FollowUp, NewTask } from './task.ts'

export interface SqliteOptions extends Pick<OpenOptions, 'run' | 'wasUsed'> {
  readonly limits?: Partial<Limits>
  readonly times?: Partial<Times>
  /** For tests. */
  readonly clock?: Clock
  /** For tests; otherwise the version of SQLite decides. */
  readonly journal?: JournalMode
}

/**
 * Opens the store in this file, and makes it where it is not there. Its processes share the file and
 * its log through memory, so that they must be on one machine, and the file on a disk of its own:
 * never on NFS or another shared folder.
 */
export async function openSqliteStore(
  path: string,
  options: SqliteOptions = {},
): Promise<QueueStore> {
  const { journal: mode, run, wasUsed } = options
  return makeStore(await openConnection(path, { mode, run, wasUsed }), options)
}

/** Opens a store that somebody else may have made, only to look at it. */
export async function openSqliteStoreToRead(path: string): Promise<QueueStore> {
  return makeStore(await openToRead(path), {})
}

function makeStore(
  db: Connection,
  { limits, times, clock = SYSTEM_CLOCK }: SqliteOptions,
): QueueStore {
  return new SqliteStore({
    db,
    clock,
    limits: { ...DEFAULT_LIMITS, ...limits },
    times: { ...DEFAULT_TIMES, ...times },
    pulse: { count: 0 },
  })
}

class SqliteStore implements QueueStore {
  readonly times: Times
  readonly #books: Books
  readonly #wake: Wake
  readonly #count: Count
  /** Up to where the bell was rung. */
  #rung = 0

  constructor(books: Books) {
    this.times = books.times
    this.#books = books
    this.#wake = new Wake(books.db)
    this.#count = new Count(books.db.place)
  }

  openRun = (run: string) => this.#write((books) => openRun(books, run))
  setMain = (run: string, state: 'running' | 'idle') =>
    this.#write((books) => setMain(books, run, state))

  push = (tasks: readonly NewTask[]) => this.#write((books) => push(books, tasks))
  start = (run: string, agent: Agent, count?: number, id?: string) =>
    this.#write((books) => once(books, run, id, () => start(books, run, agent, count)))
  drain = (run: string, agent: Agent, width: number, id?: string) =>
    this.#write((books) => once(books, run, id, () => drain(books, run, agent, width)))
  claim = (run: string, worker: string) => this.#write((books) => claim(books, run, worker))
  beat = (held: Claim) => this.#write((books) => beat(books, held))
  settle = (held: Claim, end: End, later?: Later, follow?: readonly FollowUp[]) =>
    this.#write((books) => settle(books, held, end, later, follow))
  abandon = (held: Claim) => this.#write((books) => abandon(books, held))
  postpone = (run: string, ids: readonly string[], ms: number) =>
    this.#write((books) => postpone(books, run, ids, ms))
  over = (run: string) => this.#read((books) => over(books, run))
  hands = (run: string) => this.#read((books) => hands(books, run))
  expire = (
    run: string,
    dead: readonly string[] = [],
    left: ReadonlyMap<string, Left> = new Map(),
  ) => this.#write((books) => expire(books, run, dead, left))
  cancel = (run: string, name: string, why = 'cancelled', by?: Agent) =>
    this.#write((books) => cancel(books, run, name, why, by))

  send = (message: NewMessage) => this.#write((books) => send(books, message))
  lease = (run: string, agent: Agent, query: LeaseQuery, reader: string) =>
    this.#write((books) => lease(books, run, agent, query, reader))
  take = (run: string, agent: Agent, query: TakeQuery, reader: string) =>
    this.#write((books) => take(books, run, agent, query, reader))
  renew = (run: string, agent: Agent, reader: string) =>
    this.#write((books) => renew(books, run, agent, reader))
  ack = (leases: readonly Lease[]) =>
    this.#write((books) => leases.map((leased) => ack(books, leased)))
  releaseReader = (reader: string) => this.#write((books) => releaseReader(books, reader))
  releaseDead = (run: string, dead: readonly string[]) =>
    this.#write((books) => releaseDead(books, run, dead))
  waitFor = async (run: string, agent: Agent, from: readonly string[], reader: string) => {
    const wait = { run, agent, from, reader }
    if (await this.#read((books) => isWaiting(books, wait))) return
    await this.#write((books) => waitFor(books, wait))
  }
  stopWaiting = (run: string, agent: Agent, reader: string) =>
    this.#write((books) => stopWaiting(books, run, agent, reader))

  receiveStatus = (run: string, agent: Agent, from?: readonly string[]) =>
    this.#read((books) => receiveStatus(books, run, agent, from))
  list = (run: string, query?: ListQuery) => this.#read((books) => list(books, run, query))
  task = (run: string, id: string) => this.#read((books) => task(books, run, id))
  inbox = (run: string, agent: Agent) => this.#read((books) => inbox(books, run, agent))
  counts = (run: string) => this.#read((books) => counts(books, run))
  outlook = (run: string, agent?: Agent) =>
    this.#books.db.alone(() => outlook(this.#books, run, agent))
  verify = (run: string) => this.#read((books) => verify(books, run))

  mark = () => this.#wake.mark()
  wait = (run: string, since: Mark, signal?: AbortSignal) => this.#wake.wait(run, since, signal)

  async close(): Promise<void> {
    const { db } = this.#books
    await db.written()
    this.#wake.close()
    this.#count.close()
    db.close()
  }

  #read<Result>(work: (books: Books) => Result): Promise<Result> {
    return this.#books.db.read(() => work(this.#books))
  }

  async #write<Result>(work: (books: Books) => Result): Promise<Result> {
    const { db, pulse } = this.#books
    let last = 0
    const result = await db.write(() => {
      const before = pulse.count
      const done = work(this.#books)
      last = pulse.count === before ? 0 : lastOf(db)
      return done
    })
    if (last > 0) this.#count.raise(last)
    // Of those that were written together the first rings for all.
    if (pulse.count !== this.#rung) this.#wake.happened()
    this.#rung = pulse.count
    return result
  }
}
