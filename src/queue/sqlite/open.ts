import { closeSync, constants, fstatSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { errorCode } from '../../base/errors.ts'
import { lstatOf, statOf } from '../../base/files.ts'
import { QueueError } from '../refusal.ts'
import { asRefusal, Connection } from './connection.ts'
import { acknowledgedIn } from './history-count.ts'
import { refuseAltered } from './damage.ts'
import { APPLICATION_ID, MIGRATIONS, SCHEMA, SCHEMA_VERSION } from './schema.ts'

/** Before this version, a checkpoint could lose what another connection wrote. */
const SAFE_LOG = [3, 51, 3]

export type JournalMode = 'wal' | 'delete'

/** How this version of SQLite may keep its journal. */
export function journalModeOf(version: string): JournalMode {
  const parts = version.split('.').map(Number)
  for (const [place, least] of SAFE_LOG.entries()) {
    const part = parts[place] ?? 0
    if (part !== least) return part > least ? 'wal' : 'delete'
  }
  return 'wal'
}

export interface OpenOptions {
  readonly mode?: JournalMode | undefined
  /** The run that the store belongs to; absent: any number of them. */
  readonly run?: string | undefined
  /** Whether an empty file must be what is left of a store. */
  readonly wasUsed?: (() => boolean) | undefined
}

/** Opens or creates the store; safe for many processes at once. */
export async function openConnection(
  path: string,
  { mode, run, wasUsed = () => false }: OpenOptions = {},
): Promise<Connection> {
  // Before anything is read, which is then at least as new.
  const acknowledged = acknowledgedIn(path)
  const isLeftover = () => acknowledged > 0 || wasUsed()
  makeFile(path, isLeftover)
  const { DatabaseSync } = await import('node:sqlite')
  if (logSize(path) > 0)
    lookAtLog(() => new DatabaseSync(path, { readOnly: true }), path, acknowledged)
  const connection = new Connection(
    openDatabase(() => new DatabaseSync(path), path),
    path,
  )
  try {
    // Waiting is the connection's own business.
    connection.execute('pragma busy_timeout = 0')
    await connection.read(() => {
      refuseForeign(connection)
      connection.refuseAltered()
    })
    const journal = mode ?? journalModeOf(sqliteVersion(connection))
    await connection.alone(() => connection.execute(`pragma journal_mode = ${journal}`))
    connection.execute('pragma synchronous = full; pragma foreign_keys = off')
    await connection.write(() => {
      migrate(connection, isLeftover)
      connection.refuseAltered()
      refuseIncomplete(path, acknowledged - lastOf(connection))
      if (run !== undefined) refuseOther(connection, run)
    })
    connection.watch()
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

const { O_WRONLY, O_CREAT, O_APPEND, O_NOFOLLOW, O_NONBLOCK } = constants
// Through a link it could change a file anywhere, and a FIFO in its place would be waited for.
const FLAGS = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK

/** Opens a store that may come from another machine, without writing. */
export async function openToRead(path: string): Promise<Connection> {
  if (lstatOf(path)?.isFile() !== true) throw new QueueError({ kind: 'not_a_store', place: path })
  const { DatabaseSync } = await import('node:sqlite')
  const open = () => new DatabaseSync(path, { readOnly: true, timeout: 1000 })
  const connection = new Connection(openDatabase(open, path), path)
  try {
    await connection.read(() => {
      refuseForeign(connection)
      connection.refuseAltered()
    })
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

/** Readable by its owner only, because prompts and results are private. */
function makeFile(path: string, isLeftover: () => boolean): void {
  if (isMissing(path) && isLeftover() && isMissing(path))
    throw new QueueError({ kind: 'missing', place: path })
  refuseEmptied(path, isLeftover)
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const fd = openSync(path, FLAGS, 0o600)
    const isFile = fstatSync(fd).isFile()
    closeSync(fd)
    if (!isFile) throw new QueueError({ kind: 'not_a_store', place: path })
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOSPC' || code === 'EDQUOT')
      throw new QueueError({ kind: 'disk_full', place: path })
    if (code === 'EISDIR' || code === 'ELOOP' || code === 'ENXIO')
      throw new QueueError({ kind: 'not_a_store', place: path })
    if (code === 'EACCES' || code === 'EROFS' || code === 'EPERM') {
      throw new QueueError({ kind: 'read_only', place: path })
    }
    throw error
  }
}

/**
 * Refuses an empty file in place of a used store, because SQLite would delete its write-ahead log. The
 * size is read again afterwards: another process may have created and used the store in the meantime.
 */
export function refuseEmptied(path: string, isLeftover: () => boolean): void {
  if (isEmptyFile(path) && (logSize(path) > 0 || isLeftover()) && isEmptyFile(path))
    throw emptied(path)
}

function isMissing(path: string): boolean {
  return lstatOf(path) === undefined
}

function isEmptyFile(path: string): boolean {
  const stats = lstatOf(path)
  return stats?.isFile() === true && stats.size === 0
}

function logSize(path: string): number {
  return statOf(`${path}-wal`)?.size ?? 0
}

/** Closing a store that was opened for writing removes its log: a damaged one must stay as it is. */
function lookAtLog(open: () => DatabaseSync, path: string, acknowledged: number): void {
  let last: number
  try {
    const database = open()
    try {
      refuseAltered(database, path)
      last = Number(database.prepare(LAST).get()?.['last'] ?? 0)
    } finally {
      database.close()
    }
  } catch (error) {
    if (error instanceof QueueError) throw error
    return // The error is reported when it is opened for writing.
  }
  refuseIncomplete(path, acknowledged - last)
}

export function unversioned(place: string, version: number): QueueError {
  return new QueueError({ kind: 'broken', place, detail: `its version is ${version}` })
}

function emptied(place: string): QueueError {
  const detail = 'it is empty, although this run has used it'
  return new QueueError({ kind: 'broken', place, detail })
}

function openDatabase<Database>(open: () => Database, path: string): Database {
  try {
    return open()
  } catch (error) {
    throw asRefusal(error, path)
  }
}

function sqliteVersion(connection: Connection): string {
  return connection.get<{ version: string }>('select sqlite_version() as version')!.version
}

function numberOf(connection: Connection, pragma: string): number {
  return Number(Object.values(connection.get<Record<string, number>>(`pragma ${pragma}`)!)[0])
}

function tablesIn(connection: Connection): string[] {
  const rows = connection.all<{ name: string }>(
    `select name from sqlite_schema where type = 'table'`,
  )
  return rows.map(({ name }) => name)
}

/** Only looks, so that what is not ours or newer than us stays as it is. */
function refuseForeign(connection: Connection): void {
  const version = numberOf(connection, 'user_version')
  const application = numberOf(connection, 'application_id')
  const isEmpty = numberOf(connection, 'page_count') === 0
  const place = connection.place
  if (application !== APPLICATION_ID && !isEmpty) {
    // An empty database that another process is just making has pages, but no tables yet.
    const hasTables = tablesIn(connection).length > 0
    if (hasTables || application !== 0) throw new QueueError({ kind: 'not_a_store', place })
  }
  if (version > SCHEMA_VERSION) throw new QueueError({ kind: 'newer_version', place, version })
}

function migrate(connection: Connection, isLeftover: () => boolean): void {
  refuseForeign(connection)
  const { place } = connection
  const version = numberOf(connection, 'user_version')
  if (version === SCHEMA_VERSION) return
  const isEmpty = version === 0 && tablesIn(connection).length === 0
  if (isEmpty && isLeftover()) throw emptied(place)
  if (isEmpty) connection.execute(SCHEMA)
  else if (version < 1) throw unversioned(place, version)
  else
    for (let from = version; from < SCHEMA_VERSION; from += 1) connection.execute(MIGRATIONS[from]!)
  connection.execute(
    `pragma application_id = ${APPLICATION_ID}; pragma user_version = ${SCHEMA_VERSION}`,
  )
}

export function refuseIncomplete(place: string, missing: number): void {
  if (missing > 0) throw new QueueError({ kind: 'incomplete', place, missing })
}

const LAST = 'select max(seq) as last from history'

/** The number of the last line of the history. */
export function lastOf(connection: Pick<Connection, 'get'>): number {
  return connection.get<{ last: number | null }>(LAST)!.last ?? 0
}

export const OTHER_RUN = 'select run from task where depth = 0 and run <> ?'

/** Refuses a store that was copied from another run. */
function refuseOther(connection: Connection, run: string): void {
  const other = connection.get<{ run: string }>(OTHER_RUN, run)
  if (other === undefined) return
  throw new QueueError({ kind: 'other_run', place: connection.place, run: other.run })
}
