import { closeSync, constants, fstatSync, linkSync, openSync, readFileSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { unfinishedPath, writeFileAtomic, writeNewFile } from '../base/atomic-write.ts'
import { errorCode } from '../base/errors.ts'
import { lstatOf } from '../base/files.ts'
import { makePrivateFolder } from '../base/private-folder.ts'
import { repositoryTop } from '../base/repository.ts'
import { stateFolder } from '../base/state-folder.ts'
import { askGit } from '../base/tracked.ts'
import { readTextIn } from './inside.ts'

/**
 * Why a record does not count as made here. `no_id`: nothing says where it was made, as with those of
 * 0.1.0. `other_id`: another key has signed it. `tracked`: git brings it along, or could change it.
 */
export type Foreign = 'no_id' | 'other_id' | 'other_user' | 'tracked'

type Environment = Readonly<Record<string, string | undefined>>

const SIGNATURE = 'signature'
const OF_OTHERS = 0o077
const WRITABLE_BY_OTHERS = 0o022

/**
 * Tells the records that this user has made on this machine from those that came with a project: each
 * is signed with a key that lies outside of all projects.
 */
export class Origins {
  readonly #env: Environment
  #key: { readonly text: string | undefined } | undefined
  /** By folder of records, the ids of those that git tracks. */
  readonly #tracked = new Map<string, ReadonlySet<string>>()

  constructor(env: Environment) {
    this.#env = env
  }

  /** Undefined where it was made here; git is asked only about what we have not signed. */
  foreignness(folder: string): Foreign | undefined {
    return this.isSigned(folder) ? undefined : this.strictly(folder)
  }

  /** The same for what is about to be carried out or changed: a pull may have replaced a part of it. */
  strictly(folder: string): Foreign | undefined {
    const found = this.#judge(folder)
    return found !== 'other_user' && this.#isTracked(folder) ? 'tracked' : found
  }

  /** The cheapest way to ask, for what happens at every start. */
  isSigned(folder: string): boolean {
    return this.#judge(folder) === undefined
  }

  /** False where there is no place for the key: then nobody can tell later. */
  sign(folder: string): boolean {
    try {
      if (this.#key?.text === undefined) this.#key = { text: makeKey(this.#env) }
      const signature = this.#signature(folder, this.#key.text)
      if (signature === undefined) return false
      const options = { durable: false, mode: 0o600 }
      writeFileAtomic(join(folder, SIGNATURE), `${signature}\n`, options)
      return true
    } catch (error) {
      if (errorCode(error) === undefined) throw error
      return false
    }
  }

  #judge(folder: string): Foreign | undefined {
    const stat = lstatOf(folder)
    if (process.getuid !== undefined && stat?.uid !== process.getuid()) return 'other_user'
    const found = readIfThere(folder)
    if (found === undefined) return 'no_id'
    const key = (this.#key ??= { text: readKey(keyPath(this.#env)) }).text
    return found === this.#signature(folder, key) ? undefined : 'other_id'
  }

  /** Whoever lets others write to a record must sign it again. */
  #signature(folder: string, key: string | undefined): string | undefined {
    if (key === undefined) return undefined
    const mode = (lstatOf(folder)?.mode ?? 0) & WRITABLE_BY_OTHERS
    const text = JSON.stringify(['record', basename(folder), mode])
    return new Bun.CryptoHasher('sha256', key).update(text).digest('hex')
  }

  #isTracked(folder: string): boolean {
    const root = dirname(folder)
    const known = this.#tracked.get(root) ?? listTracked(root, this.#env)
    this.#tracked.set(root, known)
    return known.has(basename(folder))
  }
}

function listTracked(root: string, env: Environment): ReadonlySet<string> {
  if (repositoryTop(root) === undefined) return new Set()
  const paths = askGit(root, ['ls-files', '-z', '--', '.'], env) ?? ''
  return new Set(paths.split('\0').map((path) => path.split('/', 1)[0]!))
}

function readIfThere(folder: string): string | undefined {
  try {
    return readTextIn(folder, SIGNATURE).trim()
  } catch (error) {
    return errorCode(error) === 'ENOENT' ? undefined : ''
  }
}

function keyPath(env: Environment): string | undefined {
  const folder = stateFolder(env)
  return folder === undefined ? undefined : join(folder, 'record-key')
}

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** A key that others can read, or could have put there, is none. */
function readKey(path: string | undefined): string | undefined {
  if (path === undefined) return undefined
  let fd: number
  try {
    fd = openSync(path, READ)
  } catch {
    return undefined
  }
  try {
    const stat = fstatSync(fd)
    const isOwn = process.getuid === undefined || stat.uid === process.getuid()
    if (!stat.isFile() || !isOwn || (stat.mode & OF_OTHERS) !== 0) return undefined
    return /^[0-9a-f]{64}\n$/.exec(readFileSync(fd, 'utf8'))?.[0]
  } finally {
    closeSync(fd)
  }
}

/** Of several that come at once, one makes it. */
function makeKey(env: Environment): string | undefined {
  const path = keyPath(env)
  if (path === undefined) return undefined
  const known = readKey(path)
  if (known !== undefined || lstatOf(path) !== undefined) return known
  makePrivateFolder(dirname(path))
  const own = unfinishedPath(dirname(path))
  const bytes = crypto.getRandomValues(new Uint8Array(32))
  writeNewFile(own, `${bytes.toHex()}\n`, { durable: true, mode: 0o600 })
  try {
    linkSync(own, path)
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
  } finally {
    rmSync(own, { force: true })
  }
  return readKey(path)
}
