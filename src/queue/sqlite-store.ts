import { DEFAULT_LIMITS, DEFAULT_TIMES, SYSTEM_CLOCK } from './limits.ts'
import type { Clock, QueueLimits, QueueTimes } from './limits.ts'
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
import { verify } from './sqlite/verify.ts'
import { stopWaiting } from './sqlite/waiting.ts'
import type { QueueStore } from './store.ts'

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
