import { linkSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { unfinishedPath } from '../base/atomic-write.ts'
import { errorCode } from '../base/errors.ts'
import { lstatOf } from '../base/files.ts'
import { parseJson } from '../base/json.ts'
import { withLock } from '../base/lock.ts'
import { isGoing, lifeOf, ownIdentity } from '../base/process-identity.ts'
import { readTextIn } from './inside.ts'

/** The process that drives a run. */
export interface Holder {
  readonly pid: number
  readonly identity: string
  readonly since: string
}

/** How long a large process may take to go. */
const PATIENCE_MS = 3000
const POLL_MS = 5

type FoundHolder = Holder & { readonly life: 'alive' | 'dead' | 'unknown' }

/** Sees to it that no two processes drive the same run. A lock whose holder is dead is no lock. */
export class RunLock {
  readonly #folder: string
  readonly #text: string

  private constructor(folder: string, text: string) {
    this.#folder = folder
    this.#text = text
  }

  /** The lock, or who has it. */
  static take(folder: string): RunLock | Holder {
    const { pid } = process
    const holder: Holder = {
      pid,
      identity: ownIdentity() ?? String(pid),
      since: new Date().toISOString(),
    }
    const text = `${JSON.stringify(holder)}\n`
    const own = unfinishedPath(folder)
    writeFileSync(own, text, { flag: 'wx', mode: 0o600 })
    try {
      return takePlace(folder, own) ?? new RunLock(folder, text)
    } finally {
      rmSync(own, { force: true })
    }
  }

  release(): void {
    if (readLock(this.#folder) === this.#text) rmSync(lockPath(this.#folder), { force: true })
  }
}

/** Who drives a run, or did when it died; undefined: nobody, it ended cleanly. */
export function holderOf(folder: string): FoundHolder | undefined {
  const text = readLock(folder)
  if (text === undefined) return undefined
  const { pid = 0, identity = '', since = '' } = parseHolder(text)
  // A power failure may have emptied the file.
  return { pid, identity, since, life: identity === '' ? 'dead' : settledLife(pid, identity) }
}

/** A process that was killed a moment ago is waited for: it may still be writing. */
function settledLife(pid: number, identity: string): FoundHolder['life'] {
  const end = performance.now() + PATIENCE_MS
  for (;;) {
    const life = lifeOf(identity)
    if (life !== 'alive' || !isGoing(pid) || performance.now() > end) return life
    Bun.sleepSync(POLL_MS)
  }
}

/** Makes a file that says who we are the lock; returns who has it where that is somebody else. */
function takePlace(folder: string, own: string): Holder | undefined {
  for (;;) {
    if (linkIfFree(own, lockPath(folder))) return undefined
    const found = holderOf(folder)
    if (found === undefined) continue
    if (found.life !== 'dead') return withoutLife(found)
    // Of several that want the place of a dead one, one at a time looks again and takes it.
    const isOurs = withLock(join(folder, 'events.ndjson'), () => {
      if (holderOf(folder)?.life !== 'dead') return false
      renameSync(own, lockPath(folder))
      return true
    })
    if (isOurs) return undefined
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

export function withoutLife({ pid, identity, since }: Holder): Holder {
  return { pid, identity, since }
}

const LOCK = 'lock'

function lockPath(folder: string): string {
  return join(folder, LOCK)
}

/** Empty where something else is in its place. */
function readLock(folder: string): string | undefined {
  if (lstatOf(lockPath(folder))?.isFile() === false) return ''
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
