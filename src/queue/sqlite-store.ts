import {
  DEFAULT_LIMITS,
  DEFAULT_TIMES,
  SYSTEM_CLOCK,
  type Clock,
  type QueueLimits,
  type QueueTimes,
} from './limits.ts'
import { ChangeWatcher } from './sqlite/change-watcher.ts'
import { claim, heartbeat } from './sqlite/claim.ts'
import { lastSeq, type Connection } from './sqlite/connection.ts'
import { cancel, expire, holders, setStepAgent } from './sqlite/expire.ts'
import { ack, inbox, lease, releaseReaders, renew, send, take } from './sqlite/messages.ts'
import {
  openConnection,
  openToRead,
  type JournalMode,
  type ConnectionOptions,
} from './sqlite/open.ts'
import { drain, openRun, push, start } from './sqlite/push.ts'
import type { StoreContext } from './sqlite/rows.ts'
import { abandon, finishedAttempts, postpone, settle } from './sqlite/settle.ts'
import { HistoryCount } from './sqlite/side-files.ts'
import { counts, isAwaiting, list, outlook, stepAgentsOf, task } from './sqlite/status.ts'
import { stopWaiting } from './sqlite/waiting.ts'
import type { QueueStore } from './store.ts'
import { Ledger, type HistoryEntry, type Tables } from './ledger.ts'

export interface SqliteOptions extends Pick<ConnectionOptions, 'run' | 'wasUsed'> {
  readonly limits?: Partial<QueueLimits>
  readonly times?: Partial<QueueTimes>
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
  { limits, times: given, isSecret, clock = SYSTEM_CLOCK }: SqliteOptions,
): QueueStore {
  const times = { ...DEFAULT_TIMES, ...given }
  const context = { db, clock, limits: { ...DEFAULT_LIMITS, ...limits }, times, isSecret }
  const watcher = new ChangeWatcher(db)
  const count = new HistoryCount(db.place)

  const read =
    <Args extends unknown[], Result>(query: (context: StoreContext, ...args: Args) => Result) =>
    (...args: Args) =>
      db.read(() => query(context, ...args))
  const write =
    <Args extends unknown[], Result>(change: (context: StoreContext, ...args: Args) => Result) =>
    async (...args: Args) => {
      const [result, last] = await db.write(() => [change(context, ...args), lastSeq(db)] as const)
      if (count.raise(last)) watcher.changed()
      return result
    }

  return {
    times,
    openRun: write(openRun),
    setStepAgent: write(setStepAgent),
    stepAgents: read(stepAgentsOf),
    push: write(push),
    start: write(start),
    drain: write(drain),
    claim: write(claim),
    heartbeat: write(heartbeat),
    settle: write(settle),
    abandon: write(abandon),
    postpone: write(postpone),
    finishedAttempts: read(finishedAttempts),
    holders: read(holders),
    expire: write(expire),
    cancel: write(cancel),
    send: write(send),
    lease: write(lease),
    take: write(take),
    renew: write(renew),
    ack: write(ack),
    releaseReaders: write(releaseReaders),
    stopWaiting: write(stopWaiting),
    list: read(list),
    task: read(task),
    inbox: read(inbox),
    counts: read(counts),
    isAwaiting: read(isAwaiting),
    outlook: (run) => db.autocommit(() => outlook(context, run)),
    verify: read(verify),
    mark: () => watcher.mark(),
    wait: (run, since, signal) => watcher.wait(run, since, signal),
    async close() {
      await db.flush()
      watcher.close()
      count.close()
      db.close()
    },
  }
}

function verify(context: StoreContext, run: string): readonly string[] {
  const ledger = new Ledger()
  const entries = context.db.all<HistoryEntry>(
    'select what, subject, attempt, detail from history where run = ? order by seq',
    run,
  )
  for (const entry of entries) ledger.add(entry)
  return [...ledger.close(tablesOf(context, run)), ...checkFile(context)]
}

function tablesOf({ db }: StoreContext, run: string): Tables {
  return {
    tasks: db.all<Tables['tasks'][number]>(
      `select id, state, attempt, worker, lease_until as leaseUntil
       from task where run = ? and depth > 0`,
      run,
    ),
    messages: db.all<Tables['messages'][number]>(
      'select id, reader, delivery, lease_until as leaseUntil from message where run = ?',
      run,
    ),
  }
}

function checkFile({ db }: StoreContext): string[] {
  const found = db.findDamage().map((line) => `the file: ${line}`)
  const { rows, last } = db.get<{ rows: number; last: number | null }>(
    'select count(*) as rows, max(seq) as last from history',
  )!
  if (rows !== (last ?? 0)) found.push(`${(last ?? 0) - rows} lines of the history are missing`)
  return found
}
