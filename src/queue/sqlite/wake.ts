import type { FSWatcher } from 'node:fs'
import { everRarer } from '../../base/ever-rarer.ts'
import { firstOf } from '../../base/first-of.ts'
import type { Mark } from '../store.ts'
import { Bell } from './bell.ts'
import type { Connection } from './connection.ts'
import { lastOf } from './open.ts'

/** For a ring that was missed: its process was killed after the commit, or the file was taken away. */
const SLOW_LOOK_MS = { first: 2000, longest: 60_000 }
/** Where nothing can be watched. */
const QUICK_LOOK_MS = { first: 40, longest: 40 }
/** A crowd of commits is looked at once. */
const REST_MS = 4
/** Who waits mostly waits again a moment later, and a watch is dear to make. */
const LINGER_MS = 1000

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
export class Wake {
  readonly #db: Connection
  readonly #bell: Bell
  readonly #waiters = new Set<Waiter>()
  #watcher: FSWatcher | undefined
  #stopLooking: (() => void) | undefined
  #soon: Timer | undefined
  #leaving: Timer | undefined
  /** Whether something has happened since one looks ever more rarely. */
  #hasNews = false
  #version: number | undefined

  constructor(db: Connection) {
    this.#db = db
    this.#bell = new Bell(`${db.place}-bell`)
  }

  async mark(): Promise<Mark> {
    return asMark(await this.#db.alone(() => lastOf(this.#db)))
  }

  /** To be called after each commit of ours that has grown the history. */
  happened(): void {
    this.#bell.ring()
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
      const first = await firstOf({ woken: promise, stopped: signal })
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
    }, REST_MS)
  }

  #lookAtAll(): void {
    this.#db
      .alone(() => this.#look(this.#waiters))
      .catch(() => {
        // It cannot be read now; the next look tells, and whoever asks gets the error.
      })
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
    this.#stopLooking = everRarer(() => this.#lookIfChanged(), first, longest)
  }

  /** SQLite tells for next to nothing whether another process has written. */
  #lookIfChanged(): void {
    if (this.#waiters.size === 0) return
    // Nothing will happen here any more; who asks next is told so.
    if (this.#db.isGone) return this.#wakeAll()
    const version = this.#dataVersion()
    if (version !== undefined && version === this.#version) return
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
    this.#leaving = setTimeout(() => this.#rest(), LINGER_MS)
  }

  #rest(): void {
    clearTimeout(this.#leaving)
    this.#watcher?.close()
    this.#watcher = undefined
    this.#stopLooking?.()
    clearTimeout(this.#soon)
    this.#stopLooking = undefined
    this.#soon = undefined
  }
}
