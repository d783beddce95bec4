import { pollWithBackoff } from '../../base/backoff.ts'
import { firstCause } from '../../base/first-cause.ts'
import type { Mark } from '../store.ts'
import { Notifier, watchFile, type Listening } from './notifier.ts'
import type { Connection } from './connection.ts'
import { lastOf } from './open.ts'

/** For a ring that was missed: its process was killed after the commit, or the file was taken away. */
const SLOW_LOOK_MS = { first: 2000, longest: 60_000 }
/** Where nothing can be watched. */
const QUICK_LOOK_MS = { first: 40, longest: 40 }
/** A crowd of commits is looked at once. */
const BATCH_MS = 4
/** Who waits mostly waits again a moment later, and a watch is dear to make. */
const KEEP_WATCHING_MS = 1000

interface Waiter {
  readonly run: string
  readonly since: number
  readonly wake: (mark: number) => void
}

/** For others a mark is a thing without a value. */
function asMark(seq: number): Mark {
  return seq as unknown as Mark
}

function asNumber(mark: Mark): number {
  return mark as unknown as number
}

/** Wakes those who wait for something to happen in a run, by whichever process. */
export class ChangeWatcher {
  readonly #db: Connection
  readonly #bell: Notifier
  readonly #waiters = new Set<Waiter>()
  #watcher: Listening | undefined
  /** Only for the end of the store itself, at which nobody rings. */
  #guard: Listening | undefined
  #stopLooking: (() => void) | undefined
  #soon: Timer | undefined
  #leaving: Timer | undefined
  /** Whether something has happened since one looks ever more rarely. */
  #hasNews = false
  #version: number | undefined

  constructor(db: Connection) {
    this.#db = db
    this.#bell = new Notifier(`${db.place}-bell`)
  }

  async mark(): Promise<Mark> {
    return asMark(await this.#db.alone(() => lastOf(this.#db)))
  }

  /** To be called after each commit of ours that has grown the history. */
  changed(): void {
    this.#bell.notify()
    if (this.#waiters.size > 0) this.#lookSoon()
  }

  async wait(run: string, since: Mark, signal: AbortSignal | undefined): Promise<Mark> {
    if (signal?.aborted === true) return since
    const { promise, resolve } = Promise.withResolvers<number>()
    const waiter = { run, since: asNumber(since), wake: resolve }
    this.#waiters.add(waiter)
    this.#listen()
    try {
      await this.#db.alone(() => this.#look([waiter]))
      const first = await firstCause({ woken: promise, stopped: signal })
      if (first === 'woken') this.#hasNews = true
      return first === 'woken' ? asMark(await promise) : since
    } finally {
      this.#waiters.delete(waiter)
      if (this.#waiters.size === 0) this.#restSoon()
    }
  }

  close(): void {
    this.#wakeAll()
    this.#rest()
    this.#bell.close()
  }

  #wakeAll(): void {
    for (const { since, wake } of this.#waiters) wake(since)
  }

  #look(waiters: Iterable<Waiter>): void {
    const latest = lastOf(this.#db)
    for (const { run, since, wake } of waiters) {
      if (since < latest && this.#isNews(run, since)) wake(latest)
    }
  }

  #isNews(run: string, since: number): boolean {
    return this.#db.get('select 1 from history where seq > ? and run = ?', since, run) !== undefined
  }

  #lookSoon(): void {
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined
      this.#lookAtAll()
    }, BATCH_MS)
  }

  #lookAtAll(): void {
    this.#db
      .alone(() => this.#look(this.#waiters))
      // It cannot be read now: who asks again gets the error.
      .catch(() => this.#wakeAll())
  }

  #listen(): void {
    clearTimeout(this.#leaving)
    const isNew = this.#watcher === undefined || this.#bell.isReplaced
    if (isNew) this.#watch()
    if (!isNew && !this.#hasNews) return
    this.#hasNews = false
    this.#lookEvery(this.#watcher === undefined ? QUICK_LOOK_MS : SLOW_LOOK_MS)
  }

  #watch(): void {
    this.#watcher?.close()
    this.#version = undefined
    const onBroken = () => this.#lookOften()
    this.#watcher = this.#bell.listen(() => this.#heard(), onBroken)
    this.#guard?.close()
    this.#guard = this.#watchStore(onBroken)
  }

  #watchStore(onBroken: () => void): Listening | undefined {
    try {
      return watchFile(this.#db.place, () => this.#heard(), onBroken)
    } catch {
      return undefined
    }
  }

  #heard(): void {
    if (this.#waiters.size > 0) this.#lookSoon()
  }

  #lookOften(): void {
    if (this.#stopLooking === undefined) return
    this.#watcher?.close()
    this.#watcher = undefined
    this.#lookEvery(QUICK_LOOK_MS)
  }

  #lookEvery({ first, longest }: typeof SLOW_LOOK_MS): void {
    this.#stopLooking?.()
    this.#stopLooking = pollWithBackoff(() => this.#lookIfChanged(), first, longest)
  }

  /** SQLite tells for next to nothing whether another process has written. */
  #lookIfChanged(): void {
    if (this.#waiters.size === 0) return
    const version = this.#dataVersion()
    const isSame = version !== undefined && version === this.#version
    if (isSame && !this.#db.isFileMissing) return
    this.#version = version
    this.#lookAtAll()
  }

  #dataVersion(): number | undefined {
    try {
      return this.#db.get<{ data_version: number }>('pragma data_version')?.data_version
    } catch {
      return undefined
    }
  }

  #restSoon(): void {
    if (this.#stopLooking === undefined) return
    clearTimeout(this.#leaving)
    this.#leaving = setTimeout(() => this.#rest(), KEEP_WATCHING_MS)
  }

  #rest(): void {
    clearTimeout(this.#leaving)
    this.#watcher?.close()
    this.#watcher = undefined
    this.#guard?.close()
    this.#guard = undefined
    this.#stopLooking?.()
    clearTimeout(this.#soon)
    this.#stopLooking = undefined
    this.#soon = undefined
  }
}
