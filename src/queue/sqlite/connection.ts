import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { errorText, UserError } from '../../base/errors.ts'
import { statOf } from '../../base/files.ts'
import { QueueError } from '../refusal.ts'
import type { Refusal } from '../refusal.ts'
import { damageOf, refuseAltered } from './damage.ts'
import { WriteBatch } from './write-batch.ts'
import { isDiskFull } from './disk-full.ts'

const PATIENCE_MS = 30_000

/** Result codes of SQLite, without what it adds in higher bits. */
const BUSY = 5
const LOCKED = 6

/** What SQLite keeps beside a file, the same for as long as it is open. */
const SIDE_FILES = ['-wal', '-shm']

/** One open database: statements that are prepared once, and transactions that wait their turn. */
export class Connection {
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  readonly #batch = new WriteBatch((work) =>
    this.#retry(() => this.#transact('begin immediate', work)),
  )
  readonly place: string
  readonly #file: string | undefined
  #sideFiles = new Map<string, string | undefined>()
  /** How large it was: while it is open, it only grows. */
  #size = 0
  /** SQLite raises it with each change of tables, by whichever process. */
  #schemaVersion: number | undefined

  constructor(database: DatabaseSync, place: string) {
    this.#database = database
    this.place = place
    this.#file = fileAt(place)
  }

  /** Whether a file was taken away or emptied, which changes no version of the data. */
  get isFileMissing(): boolean {
    return this.#findMissingFile() !== undefined
  }

  /** To be called once all files are there. */
  watch(): void {
    const beside = SIDE_FILES.map((end) => [end, fileAt(this.place + end)] as const)
    this.#sideFiles = new Map(beside)
    this.#size = statOf(this.place)?.size ?? 0
    this.#schemaVersion = this.#readSchemaVersion()
  }

  /** Before a statement meets them: refuses tables that are not those that we make. */
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

  /** SQLite would go on in a file that nobody else can see, or wait for what never comes. */
  #findMissingFile(): Refusal | undefined {
    const { place } = this
    const stats = statOf(place)
    if (identify(stats) !== this.#file) return { kind: 'gone', place }
    const { size = 0 } = stats ?? {}
    if (size < this.#size) {
      const detail = `it was ${size === 0 ? 'emptied' : 'truncated'} while it was in use`
      return { kind: 'altered', place, detail }
    }
    const taken = [...this.#sideFiles].flatMap(([end, file]) =>
      fileAt(place + end) === file ? [] : [end],
    )
    if (taken.length > 0) {
      const detail = `its ${taken.join(' and ')} file was deleted while it was in use`
      return { kind: 'broken', place, detail }
    }
    return undefined
  }

  /** How many rows it changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#prepare(sql).run(...values).changes)
  }

  // Only who wrote the statement knows its rows.
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters
  get<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#prepare(sql).get(...values) as Row | undefined
  }

  all<Row>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#prepare(sql).all(...values) as Row[]
  }

  /** Several statements, or one that cannot be prepared beforehand. */
  execute(sql: string): void {
    this.#database.exec(sql)
  }

  /**
   * Everything or nothing, alone among all writers; what is done may be done again from the start. It
   * is on the disk once it answers, together with what others of this process wrote at that time.
   */
  write<Result>(work: () => Result): Promise<Result> {
    return this.#batch.add(work)
  }

  /** All of it as of one moment. */
  read<Result>(work: () => Result): Promise<Result> {
    return this.#retry(() => this.#transact('begin', work))
  }

  /** Within a transaction: where it fails, all of it is taken out again, and the rest stays. */
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

  /** What is wrong with the file. */
  damage(): string[] {
    return damageOf(this.#database)
  }

  /** Outside of a transaction. */
  alone<Result>(work: () => Result): Promise<Result> {
    return this.#retry(work)
  }

  /** Settles when all that was asked for is written. */
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
      // After some errors, as of a full disk, SQLite has done so itself.
    }
  }

  /**
   * SQLite's own waiting lets some processes starve; pauses of random length are fair. In between,
   * other work of this process goes on.
   */
  async #retry<Result>(work: () => Result): Promise<Result> {
    const end = performance.now() + PATIENCE_MS
    for (;;) {
      const taken = this.#findMissingFile()
      if (taken !== undefined) throw new QueueError(taken)
      try {
        this.#refuseAlteredSince()
        return work()
      } catch (error) {
        if (!isBusy(error)) throw this.#explain(error)
        if (performance.now() > end) throw busy(this.place)
      }
      await Bun.sleep(0.3 + Math.random() * 2.5)
    }
  }

  /** In a damaged file anything can go wrong, and is no mistake of ours. */
  #explain(error: unknown): unknown {
    const refusal = asRefusal(error, this.place)
    if (refusal instanceof UserError) return refusal
    try {
      const [detail] = this.damage()
      if (detail === undefined) return error
      return new QueueError({ kind: 'broken', place: this.place, detail })
    } catch (other) {
      return asRefusal(other, this.place)
    }
  }
}

/** What tells a file from others, also from one that came to its place later. */
function fileAt(place: string): string | undefined {
  return identify(statOf(place))
}

function identify(stats: ReturnType<typeof statOf>): string | undefined {
  return stats === undefined ? undefined : `${stats.dev} ${stats.ino}`
}

function busy(place: string): QueueError {
  return new QueueError({ kind: 'busy', place, seconds: PATIENCE_MS / 1000 })
}

function isBusy(error: unknown): boolean {
  const code = resultCode(error)
  return code === BUSY || code === LOCKED
}

function resultCode(error: unknown): number | undefined {
  const code = error instanceof Error && 'errcode' in error ? error.errcode : undefined
  return typeof code === 'number' ? code & 0xff : undefined
}

/** Where the place is to blame, one clear error; a mistake in our own SQL stays what it is. */
export function asRefusal(error: unknown, place: string): unknown {
  const refusal = refusalFor(resultCode(error), place, error)
  return refusal === undefined ? error : new QueueError(refusal)
}

function refusalFor(code: number | undefined, place: string, error: unknown): Refusal | undefined {
  switch (code) {
    case 8: // SQLITE_READONLY
    case 14: // SQLITE_CANTOPEN
    case 23: // SQLITE_AUTH
      return { kind: 'read_only', place }
    case 13: // SQLITE_FULL
      return { kind: 'disk_full', place }
    case 26: // SQLITE_NOTADB
      return { kind: 'not_a_store', place }
    case 10: // SQLITE_IOERR
      // So it also calls a disk without room for the files beside the store.
      if (isDiskFull(place)) return { kind: 'disk_full', place }
      return { kind: 'failing', place, detail: errorText(error) }
    case 11: // SQLITE_CORRUPT
      return { kind: 'broken', place, detail: errorText(error) }
    default:
      return undefined
  }
}
