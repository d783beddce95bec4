import { tryOr } from '../../base/errors.ts'
import { pollWithBackoff } from '../../base/backoff.ts'
import { firstCause } from '../../base/first-cause.ts'
import type { Mark } from '../store.ts'
import { lastSeq, type Connection } from './connection.ts'

/** Long enough that a hundred waiting processes use almost no CPU time. */
const POLL_MS = { first: 10, longest: 500 }

interface Waiter {
  readonly run: string
  readonly since: number
  readonly wake: (mark: number) => void
}

/** Wakes waiting callers when the history of their run grows, in this process or another one. */
export class ChangeWatcher {
  readonly #db: Connection
  readonly #waiters = new Set<Waiter>()
  #stopPolling: (() => void) | undefined
  #version: number | undefined

  constructor(db: Connection) {
    this.#db = db
  }

  async mark(): Promise<Mark> {
    return asMark(await this.#db.autocommit(() => lastSeq(this.#db)))
  }

  async wait(run: string, since: Mark, signal: AbortSignal | undefined): Promise<Mark> {
    if (signal?.aborted === true) return since
    const { promise, resolve } = Promise.withResolvers<number>()
    const waiter = { run, since: since as unknown as number, wake: resolve }
    this.#waiters.add(waiter)
    try {
      await this.#db.autocommit(() => this.#wakeIfNews([waiter]))
      this.#startPolling()
      const first = await firstCause({ stopped: signal, woken: promise })
      return first === 'woken' ? asMark(await promise) : since
    } finally {
      this.#waiters.delete(waiter)
      if (this.#waiters.size === 0) this.#stopPolling?.()
    }
  }

  /** Call after each commit of this process that added to the history. */
  changed(): void {
    if (this.#waiters.size === 0) return
    this.#db
      .autocommit(() => this.#wakeIfNews(this.#waiters))
      // The callers get the error from their next query.
      .catch(() => this.#wakeAll())
  }

  close(): void {
    this.#wakeAll()
  }

  #wakeAll(): void {
    for (const { since, wake } of this.#waiters) wake(since)
  }

  #wakeIfNews(waiters: Iterable<Waiter>): void {
    const latest = lastSeq(this.#db)
    for (const { run, since, wake } of waiters) {
      if (since < latest && this.#isNews(run, since)) wake(latest)
    }
  }

  #isNews(run: string, since: number): boolean {
    return this.#db.get('select 1 from history where seq > ? and run = ?', since, run) !== undefined
  }

  /** Polls quickly again after each new wait, because an answer is most likely to come soon. */
  #startPolling(): void {
    this.#stopPolling?.()
    this.#stopPolling = pollWithBackoff(() => this.#poll(), POLL_MS.first, POLL_MS.longest)
  }

  /** The data version changes with each commit of another process; a deleted file changes no version. */
  #poll(): void {
    const version = this.#dataVersion()
    const isSame = version !== undefined && version === this.#version
    if (isSame && !this.#db.isFileMissing) return
    this.#version = version
    this.changed()
  }

  #dataVersion(): number | undefined {
    return tryOr(
      undefined,
      () => this.#db.get<{ data_version: number }>('pragma data_version')?.data_version,
    )
  }
}

/** A mark is the number of a row of the history. */
function asMark(seq: number): Mark {
  return seq as unknown as Mark
}
