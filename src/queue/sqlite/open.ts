import { closeSync, constants, fstatSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { errorCode } from '../../base/errors.ts'
import { lstatOf } from '../../base/files.ts'
import { QueueError } from '../refusal.ts'
import { asRefusal, Connection } from './connection.ts'
import { APPLICATION_ID, MIGRATIONS, SCHEMA, SCHEMA_VERSION, VIEWS } from './schema.ts'

/** Before it, one connection that tidied up the write-ahead log could lose what another wrote. */
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

/** Opens the store at this path, and makes it where it is not there; safe for many processes at once. */
export async function openConnection(path: string, mode?: JournalMode): Promise<Connection> {
  makeFile(path)
  const { DatabaseSync } = await import('node:sqlite')
  const connection = new Connection(
    openDatabase(() => new DatabaseSync(path), path),
    path,
  )
  try {
    // Waiting is the connection's own business.
    connection.execute('pragma busy_timeout = 0')
    await connection.read(() => refuseForeign(connection))
    const journal = mode ?? journalModeOf(sqliteVersion(connection))
    await connection.alone(() => connection.execute(`pragma journal_mode = ${journal}`))
    connection.execute('pragma synchronous = full; pragma foreign_keys = off')
    await connection.write(() => migrate(connection))
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

const { O_WRONLY, O_CREAT, O_APPEND, O_NOFOLLOW, O_NONBLOCK } = constants
// Through a link it could change a file anywhere, and a FIFO in its place would be waited for.
const FLAGS = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK

/** Opens a store that somebody else may have made, only to look at it: nothing is written. */
export async function openToRead(path: string): Promise<Connection> {
  if (lstatOf(path)?.isFile() !== true) throw new QueueError({ kind: 'not_a_store', place: path })
  const { DatabaseSync } = await import('node:sqlite')
  const open = () => new DatabaseSync(path, { readOnly: true, timeout: 1000 })
  const connection = new Connection(openDatabase(open, path), path)
  try {
    await connection.read(() => {
      refuseForeign(connection)
      if (connection.get(VIEWS) !== undefined)
        throw new QueueError({ kind: 'not_a_store', place: path })
    })
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

/** For its owner alone: prompts and results are nobody else's business. */
function makeFile(path: string): void {
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

/** Only looks, so that what is not ours or newer than us stays as it is. */
function refuseForeign(connection: Connection): void {
  const version = numberOf(connection, 'user_version')
  const application = numberOf(connection, 'application_id')
  const isEmpty = numberOf(connection, 'page_count') === 0
  const place = connection.place
  if (application !== APPLICATION_ID && !isEmpty) {
    // An empty database that another process is just making has pages, but no tables yet.
    const { tables } = connection.get<{ tables: number }>(
      'select count(*) as tables from sqlite_schema',
    )!
    if (tables > 0 || application !== 0) throw new QueueError({ kind: 'not_a_store', place })
  }
  if (version > SCHEMA_VERSION) throw new QueueError({ kind: 'newer_version', place, version })
}

function migrate(connection: Connection): void {
  refuseForeign(connection)
  const version = numberOf(connection, 'user_version')
  if (version === SCHEMA_VERSION) return
  if (version === 0) connection.execute(SCHEMA)
  else
    for (let from = version; from < SCHEMA_VERSION; from += 1) connection.execute(MIGRATIONS[from]!)
  connection.execute(
    `pragma application_id = ${APPLICATION_ID}; pragma user_version = ${SCHEMA_VERSION}`,
  )
}
