import { closeSync, fstatSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { errorCode } from '../../base/errors.ts'
import { lstatOf, statOf } from '../../base/files.ts'
import { QueueError } from '../refusal.ts'
import { toQueueError, Connection, isNoSpace, LAST_SEQ, lastSeq } from './connection.ts'
import { refuseAltered } from './damage.ts'
import { APPLICATION_ID, MIGRATIONS, SCHEMA, SCHEMA_VERSION } from './schema.ts'
import { acknowledgedIn, SAFE_FLAGS } from './side-files.ts'

export type JournalMode = 'wal' | 'delete'

/** Before 3.51.3, a checkpoint could lose what another connection wrote to the write-ahead log. */
export function journalModeOf(version: string): JournalMode {
  return Bun.semver.order(version, '3.51.3') >= 0 ? 'wal' : 'delete'
}

export interface ConnectionOptions {
  readonly mode?: JournalMode | undefined
  /** The run that the store belongs to; absent: any number of runs. */
  readonly run?: string | undefined
  /** Whether a missing or empty store must once have had content. */
  readonly wasUsed?: (() => boolean) | undefined
}

/** Opens or creates the store; safe for many processes at once. */
export async function openConnection(
  path: string,
  { mode, run, wasUsed = () => false }: ConnectionOptions = {},
): Promise<Connection> {
  // Read first, so that everything read later is at least as new.
  const acknowledged = acknowledgedIn(path)
  const isLeftover = () => acknowledged > 0 || wasUsed()
  makeFile(path, isLeftover)
  if (logSize(path) > 0) checkLog(path, acknowledged)
  refuseIrregular(path)
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  const connection = connect(() => new DatabaseSync(path), path)
  return orClose(connection, async () => {
    // The connection waits for busy stores itself.
    connection.execute('pragma busy_timeout = 0')
    await connection.read(() => {
      refuseForeign(connection)
      connection.refuseAltered()
    })
    const version = connection.get<{ version: string }>('select sqlite_version() as version')!
    const journal = mode ?? journalModeOf(version.version)
    await connection.autocommit(() => connection.execute(`pragma journal_mode = ${journal}`))
    connection.execute('pragma synchronous = full; pragma foreign_keys = off')
    await connection.write(() => {
      migrate(connection, isLeftover)
      connection.refuseAltered()
      refuseIncomplete(path, acknowledged - lastSeq(connection))
      if (run !== undefined) refuseOtherRun(connection, run)
    })
    connection.watch()
  })
}

/** Opens a store that may come from another machine, without writing. */
export async function openToRead(path: string): Promise<Connection> {
  const connection = connect(() => openReadOnly(path), path)
  return orClose(connection, () =>
    connection.read(() => {
      refuseForeign(connection)
      connection.refuseAltered()
    }),
  )
}

export function openReadOnly(path: string): DatabaseSync {
  refuseIrregular(path)
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  return new DatabaseSync(path, { readOnly: true, timeout: 1000 })
}

/** SQLite would wait for the other end of a FIFO. */
function refuseIrregular(path: string): void {
  const isFile = (end: string) => lstatOf(path + end)?.isFile() ?? end !== ''
  if (!['', '-journal', '-wal', '-shm'].every(isFile))
    throw new QueueError({ kind: 'not_a_store', place: path })
}

function connect(open: () => DatabaseSync, path: string): Connection {
  try {
    return new Connection(open(), path)
  } catch (error) {
    throw toQueueError(error, path)
  }
}

async function orClose(connection: Connection, work: () => Promise<void>): Promise<Connection> {
  try {
    await work()
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

/** Readable by its owner only, because prompts and results are private. */
function makeFile(path: string, isLeftover: () => boolean): void {
  // Checked again at the end, because another process may have created and used the store in the meantime.
  if (isMissing(path) && isLeftover() && isMissing(path))
    throw new QueueError({ kind: 'missing', place: path })
  refuseEmptied(path, isLeftover)
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const fd = openSync(path, SAFE_FLAGS, 0o600)
    const isFile = fstatSync(fd).isFile()
    closeSync(fd)
    if (!isFile) throw new QueueError({ kind: 'not_a_store', place: path })
  } catch (error) {
    const code = errorCode(error) ?? ''
    if (isNoSpace(error)) throw new QueueError({ kind: 'disk_full', place: path })
    if (['EISDIR', 'ELOOP', 'ENXIO'].includes(code))
      throw new QueueError({ kind: 'not_a_store', place: path })
    if (['EACCES', 'EROFS', 'EPERM'].includes(code))
      throw new QueueError({ kind: 'read_only', place: path })
    throw error
  }
}

/** Refuses an empty file in place of a used store, because SQLite would delete its write-ahead log. */
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

/** Read-only, because closing a store that was opened for writing removes its log, even a damaged one. */
function checkLog(path: string, acknowledged: number): void {
  try {
    const database = openReadOnly(path)
    try {
      refuseAltered(database, path)
      const { last } = database.prepare(LAST_SEQ).get() as { last: number | null }
      refuseIncomplete(path, acknowledged - (last ?? 0))
    } finally {
      database.close()
    }
  } catch (error) {
    // Other errors are reported when it is opened for writing.
    if (error instanceof QueueError) throw error
  }
}

export function unversioned(place: string, version: number): QueueError {
  return new QueueError({ kind: 'broken', place, detail: `its version is ${version}` })
}

function emptied(place: string): QueueError {
  const detail = 'it is empty, although this run has used it'
  return new QueueError({ kind: 'broken', place, detail })
}

function numberOf(connection: Connection, pragma: string): number {
  return Number(Object.values(connection.get<Record<string, number>>(`pragma ${pragma}`)!)[0])
}

function hasTables(connection: Connection): boolean {
  return connection.get(`select 1 from sqlite_schema where type = 'table'`) !== undefined
}

/** Does not write, because files of other programs and stores of newer versions must not change. */
function refuseForeign(connection: Connection): void {
  const { place } = connection
  const application = numberOf(connection, 'application_id')
  // Without tables, it is new or another process is creating it.
  const isNew = application === 0 && !hasTables(connection)
  if (application !== APPLICATION_ID && !isNew) throw new QueueError({ kind: 'not_a_store', place })
  const version = numberOf(connection, 'user_version')
  if (version > SCHEMA_VERSION) throw new QueueError({ kind: 'newer_version', place, version })
}

function migrate(connection: Connection, isLeftover: () => boolean): void {
  refuseForeign(connection)
  const { place } = connection
  const version = numberOf(connection, 'user_version')
  if (version === SCHEMA_VERSION) return
  if (version === 0 && !hasTables(connection)) {
    if (isLeftover()) throw emptied(place)
    connection.execute(SCHEMA)
  } else if (version < 1) throw unversioned(place, version)
  else
    for (let from = version; from < SCHEMA_VERSION; from += 1) connection.execute(MIGRATIONS[from]!)
  connection.execute(
    `pragma application_id = ${APPLICATION_ID}; pragma user_version = ${SCHEMA_VERSION}`,
  )
}

export function refuseIncomplete(place: string, missing: number): void {
  if (missing > 0) throw new QueueError({ kind: 'incomplete', place, missing })
}

export const OTHER_RUN = 'select run from task where depth = 0 and run <> ?'

/** Refuses a store that was copied from another run. */
function refuseOtherRun(connection: Connection, run: string): void {
  const other = connection.get<{ run: string }>(OTHER_RUN, run)
  if (other === undefined) return
  throw new QueueError({ kind: 'other_run', place: connection.place, run: other.run })
}
