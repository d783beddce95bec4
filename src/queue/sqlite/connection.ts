import { rmSync, writeFileSync, type Stats } from 'node:fs'
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { errorCode, errorText, UserError } from '../../base/errors.ts'
import { statOf } from '../../base/files.ts'
import { QueueError, type QueueRefusal } from '../refusal.ts'
import { findDamage, refuseAltered } from './damage.ts'
import { WriteBatch } from './write-batch.ts'

const BUSY_TIMEOUT_MS = 30_000

/** Primary result codes of SQLite. */
const BUSY = 5
const LOCKED = 6

/** The files that SQLite keeps next to an open database. */
const SIDE_FILES = ['-wal', '-shm']

/** An open database with cached statements and transactions that wait for a busy store. */
export class Connection {
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  readonly #batch = new WriteBatch((work) =>
    this.#retry(() => this.#transact('begin immediate', work)),
  )
  readonly place: string
  readonly #file: string | undefined
  #sideFiles = new Map<string, string | undefined>()
  /** The size when it was opened; an open database never shrinks. */
  #size = 0
  /** Changes whenever any process changes the schema. */
  #schemaVersion: number | undefined

  constructor(database: DatabaseSync, place: string) {
    this.#database = database
    this.place = place
    this.#file = identify(statOf(place))
  }

  /** Whether a file was deleted, replaced or truncated. */
  get isFileMissing(): boolean {
    return this.#findMissingFile() !== undefined
  }

  /** Remembers the files and the schema, so that later changes are refused. */
  watch(): void {
    this.#sideFiles = new Map(SIDE_FILES.map((end) => [end, identify(statOf(this.place + end))]))
    this.#size = statOf(this.place)?.size ?? 0
    this.#schemaVersion = this.#readSchemaVersion()
  }

  /** Refuses a schema that forkhestra did not create, before any statement uses it. */
  refuseAltered(): void {
    refuseAltered(this.#database, this.place)
  }

  #readSchemaVersion(): number {
    return this.get<{ schema_version: number }>('pragma schema_version')!.schema_version
  }

  #refuseAlteredSince(): void {
    if (this.#schemaVersion === undefined) return
    const version = this.#readSchemaVersion()
    if (version === this.#schemaVersion) return
    this.refuseAltered()
    this.#schemaVersion = version
  }

  /** SQLite itself would keep using a deleted file that no other process can see. */
  #findMissingFile(): QueueRefusal | undefined {
    const { place } = this
    const stats = statOf(place)
    if (stats === undefined || identify(stats) !== this.#file) return { kind: 'gone', place }
    if (stats.size < this.#size) {
      const detail = `it was ${stats.size === 0 ? 'emptied' : 'truncated'} while it was in use`
      return { kind: 'altered', place, detail }
    }
    const missing = [...this.#sideFiles.keys()].filter(
      (end) => identify(statOf(place + end)) !== this.#sideFiles.get(end),
    )
    if (missing.length === 0) return undefined
    const detail = `its ${missing.join(' and ')} file was deleted while it was in use`
    return { kind: 'broken', place, detail }
  }

  /** Returns the number of changed rows. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#prepare(sql).run(...values).changes)
  }

  // The caller knows the type of the rows.
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters
  get<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#prepare(sql).get(...values) as Row | undefined
  }

  all<Row>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#prepare(sql).all(...values) as Row[]
  }

  /** Executes several statements, or one that cannot be prepared. */
  execute(sql: string): void {
    this.#database.exec(sql)
  }

  /**
   * Runs `work` in a write transaction, possibly more than once. It is on the disk when the promise
   * resolves, in one commit with concurrent writes of this process.
   */
  write<Result>(work: () => Result): Promise<Result> {
    return this.#batch.add(work)
  }

  /** Runs `work` on a consistent snapshot. */
  read<Result>(work: () => Result): Promise<Result> {
    return this.#retry(() => this.#transact('begin', work))
  }

  /** Within a transaction: undoes only `work` if it throws. */
  nested<Result>(work: () => Result): Result {
    this.run('savepoint nested')
    try {
      return work()
    } catch (error) {
      this.run('rollback to nested')
      throw error
    } finally {
      this.run('release nested')
    }
  }

  findDamage(): string[] {
    return findDamage(this.#database)
  }

  /** Runs `work` outside a transaction. */
  autocommit<Result>(work: () => Result): Promise<Result> {
    return this.#retry(work)
  }

  /** Resolves when all pending writes are done. */
  flush(): Promise<void> {
    return this.#batch.done()
  }

  close(): void {
    this.#statements.clear()
    this.#database.close()
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#database.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }

  #transact<Result>(begin: string, work: () => Result): Result {
    this.run(begin)
    try {
      const result = work()
      this.run('commit')
      return result
    } catch (error) {
      this.#rollBack()
      throw error
    }
  }

  #rollBack(): void {
    try {
      this.run('rollback')
    } catch {
      // After some errors, such as a full disk, SQLite has already rolled back.
    }
  }

  /** Waits in random intervals, because SQLite's own busy timeout starves some processes. */
  async #retry<Result>(work: () => Result): Promise<Result> {
    const end = performance.now() + BUSY_TIMEOUT_MS
    for (;;) {
      const missing = this.#findMissingFile()
      if (missing !== undefined) throw new QueueError(missing)
      try {
        this.#refuseAlteredSince()
        return work()
      } catch (error) {
        if (!isBusy(error)) throw this.#explain(error)
        if (performance.now() > end) {
          const seconds = BUSY_TIMEOUT_MS / 1000
          throw new QueueError({ kind: 'busy', place: this.place, seconds })
        }
      }
      await Bun.sleep(0.3 + Math.random() * 2.5)
    }
  }

  /** A damaged file can cause any error; if the file is intact, the error is a bug. */
  #explain(error: unknown): unknown {
    const refusal = toQueueError(error, this.place)
    if (refusal instanceof UserError) return refusal
    try {
      const [detail] = this.findDamage()
      if (detail === undefined) return error
      return new QueueError({ kind: 'broken', place: this.place, detail })
    } catch (other) {
      return toQueueError(other, this.place)
    }
  }
}

/** Also distinguishes a file from one that replaced it. */
function identify(stats: Stats | undefined): string | undefined {
  return stats === undefined ? undefined : `${stats.dev} ${stats.ino}`
}

function isBusy(error: unknown): boolean {
  const code = resultCode(error)
  return code === BUSY || code === LOCKED
}

/** The primary result code, without the bits of the extended one. */
function resultCode(error: unknown): number | undefined {
  const code = error instanceof Error && 'errcode' in error ? error.errcode : undefined
  return typeof code === 'number' ? code & 0xff : undefined
}

/** Turns errors of the file or the disk into refusals; returns others, such as wrong SQL, as they are. */
export function toQueueError(error: unknown, place: string): unknown {
  const refusal = refusalFor(resultCode(error), place, error)
  return refusal === undefined ? error : new QueueError(refusal)
}

function refusalFor(
  code: number | undefined,
  place: string,
  error: unknown,
): QueueRefusal | undefined {
  switch (code) {
    case 8: // SQLITE_READONLY
    case 14: // SQLITE_CANTOPEN
    case 23: // SQLITE_AUTH
      return { kind: 'read_only', place }
    case 13: // SQLITE_FULL
      return { kind: 'disk_full', place }
    case 26: // SQLITE_NOTADB
      return { kind: 'not_a_store', place }
    case 10: // SQLITE_IOERR, also if there is no space for -wal and -shm
      if (isDiskFull(place)) return { kind: 'disk_full', place }
      return { kind: 'failing', place, detail: errorText(error) }
    case 11: // SQLITE_CORRUPT
      return { kind: 'broken', place, detail: errorText(error) }
    default:
      return undefined
  }
}

/** As much as SQLite allocates at once for its side files. */
const PROBE_BYTES = 64 * 1024

/** Tries to write, because free space as reported by the disk ignores quotas. */
function isDiskFull(place: string): boolean {
  const probe = `${place}-room-${process.pid}`
  try {
    writeFileSync(probe, Buffer.alloc(PROBE_BYTES), { flag: 'wx', mode: 0o600 })
    return false
  } catch (error) {
    return isNoSpace(error)
  } finally {
    rmSync(probe, { force: true })
  }
}

export function isNoSpace(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(errorCode(error) ?? '')
}

export const LAST_SEQ = 'select max(seq) as last from history'

/** The number of the last row of the history. */
export function lastSeq(db: Connection): number {
  return db.get<{ last: number | null }>(LAST_SEQ)?.last ?? 0
}
