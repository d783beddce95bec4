import { linkSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { unfinishedPath, writeFileAtomic } from '../../base/atomic-write.ts'
import { errorCode, tryOr } from '../../base/errors.ts'
import { lstatOf } from '../../base/files.ts'
import { parseJson } from '../../base/json.ts'
import { holdFolder, isFolderHeld, withLock } from '../../base/linux/lock.ts'
import { isBeingKilled, lifeOf, ownIdentity } from '../../base/linux/process-identity.ts'
import { KeptFolder } from '../../base/places.ts'
import { readTextIn } from './inside.ts'

/** The process that drives a run. */
export interface Holder {
  readonly pid: number
  readonly identity: string
  readonly since: string
}

/** How long a large process may take to exit after it was killed. */
const PATIENCE_MS = 3000
const POLL_MS = 5

type FoundHolder = Holder & { readonly life: 'alive' | 'dead' | 'unknown' }

/** The holder of a lock whose file is missing: an agent may have deleted it. */
const UNKNOWN_HOLDER: Holder = { pid: 0, identity: '', since: '' }

/**
 * Keeps two processes from driving the same run. A lock whose holder is dead is ignored. The file names
 * the holder; the system's lock on the folder works even if the file is gone.
 */
export class RunLock {
  readonly #kept: KeptFolder
  readonly #text: string
  #giveBack: (() => void) | undefined

  private constructor(kept: KeptFolder, text: string, giveBack: () => void) {
    this.#kept = kept
    this.#text = text
    this.#giveBack = giveBack
  }

  /** The lock, or its current holder. */
  static take(folder: string): RunLock | Holder {
    const { pid } = process
    const holder: Holder = {
      pid,
      identity: ownIdentity() ?? String(pid),
      since: new Date().toISOString(),
    }
    const text = `${JSON.stringify(holder)}\n`
    const kept = new KeptFolder(folder)
    let giveBack: (() => void) | undefined
    try {
      const other = takePlace(folder, kept.path, text)
      if (other !== undefined) return other
      giveBack = holdFolder(folder)
      if (giveBack !== undefined) return new RunLock(kept, text, giveBack)
      removeLock(kept.path, text)
      return UNKNOWN_HOLDER
    } finally {
      if (giveBack === undefined) kept.close()
    }
  }

  /** Writes the file again if it is gone or names a dead process. */
  restore(): void {
    if (this.#giveBack === undefined || this.#kept.isDeleted) return
    const { path } = this.#kept
    if (readLock(path) === this.#text) return
    if ((namedHolder(path)?.life ?? 'dead') !== 'dead') return
    writeFileAtomic(lockPath(path), this.#text, { durable: false, mode: 0o600 })
  }

  /** Records that the run is active, so that its running time is known after a power failure. */
  beat(now: number): void {
    if (this.#giveBack !== undefined) utimesSync(lockPath(this.#kept.path), now / 1000, now / 1000)
  }

  release(): void {
    if (this.#giveBack === undefined) return
    try {
      this.restore()
    } finally {
      // Unlocks first, so that a process that finds no file also finds the folder unlocked.
      this.#giveBack()
      this.#giveBack = undefined
      removeLock(this.#kept.path, this.#text)
      this.#kept.close()
    }
  }
}

/** When the process that holds or held the lock was last active, without time while it slept. */
export function lastBeatOf(folder: string): number | undefined {
  return lstatOf(lockPath(folder))?.mtimeMs
}

/** Whether a live process drives a run. */
export function isDriven(folder: string): boolean {
  return (holderOf(folder)?.life ?? 'dead') !== 'dead'
}

/** The process that drives a run, or drove it when it died; undefined if the run ended cleanly. */
export function holderOf(folder: string): FoundHolder | undefined {
  const found = namedHolder(folder)
  if (found !== undefined && found.life !== 'dead') return found
  // Threads of a killed process may keep its files open for a moment.
  const end = performance.now() + (found === undefined || found.identity === '' ? 0 : PATIENCE_MS)
  while (isHeld(folder)) {
    if (performance.now() > end) return { ...UNKNOWN_HOLDER, life: 'alive' }
    Bun.sleepSync(POLL_MS)
  }
  return found
}

function namedHolder(folder: string): FoundHolder | undefined {
  const text = readLock(folder)
  if (text === undefined) return undefined
  const { pid = 0, identity = '', since = '' } = parseHolder(text)
  // A power failure may have emptied the file.
  return { pid, identity, since, life: identity === '' ? 'dead' : settledLife(pid, identity) }
}

/** A folder that cannot be opened does not count as held. */
export function isHeld(folder: string): boolean {
  return tryOr(false, () => isFolderHeld(folder))
}

/** Waits for a process that is being killed, because it may still be writing. */
function settledLife(pid: number, identity: string): FoundHolder['life'] {
  const end = performance.now() + PATIENCE_MS
  for (;;) {
    const life = lifeOf(identity)
    if (life !== 'alive' || !isBeingKilled(pid) || performance.now() > end) return life
    Bun.sleepSync(POLL_MS)
  }
}

/** Writes a file that names this process and makes it the lock; returns the holder if another process has it. */
function takePlace(folder: string, opened: string, text: string): Holder | undefined {
  const own = unfinishedPath(opened)
  writeFileSync(own, text, { flag: 'wx', mode: 0o600 })
  try {
    for (;;) {
      if (linkIfFree(own, lockPath(opened))) return undefined
      const found = holderOf(folder)
      if (found === undefined) continue
      if (found.life !== 'dead') return found
      // Several processes may try to replace a dead holder; one at a time checks again.
      const isOurs = withLock(join(opened, 'events.ndjson'), () => {
        if (holderOf(folder)?.life !== 'dead') return false
        renameSync(own, lockPath(opened))
        return true
      })
      if (isOurs) return undefined
    }
  } finally {
    rmSync(own, { force: true })
  }
}

function linkIfFree(own: string, path: string): boolean {
  try {
    linkSync(own, path)
    return true
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false
    throw error
  }
}

function removeLock(folder: string, text: string): void {
  if (readLock(folder) === text) rmSync(lockPath(folder), { force: true })
}

const LOCK = 'lock'

function lockPath(folder: string): string {
  return join(folder, LOCK)
}

/** Much longer than any lock file. */
const MOST_LENGTH = 4096

/** An empty text if it cannot be one of ours. */
function readLock(folder: string): string | undefined {
  const found = lstatOf(lockPath(folder))
  if (found !== undefined && (!found.isFile() || found.size > MOST_LENGTH)) return ''
  try {
    return readTextIn(folder, LOCK)
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}

function parseHolder(text: string): Partial<Holder> {
  try {
    const { pid, identity, since } = parseJson(text) as Record<keyof Holder, unknown>
    const isHolder =
      typeof pid === 'number' && typeof identity === 'string' && typeof since === 'string'
    return isHolder ? { pid, identity, since } : {}
  } catch {
    return {}
  }
}
