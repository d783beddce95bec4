import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { unfinishedPath, writeFileAtomic, writeNewFile } from '../../base/atomic-write.ts'
import { errorCode } from '../../base/errors.ts'
import { lstatOf } from '../../base/files.ts'
import { withFileIn } from '../../base/places.ts'
import { makePrivateFolder } from '../../base/private-folder.ts'
import { repositoryTop } from '../../base/repository.ts'
import { stateFolder } from '../../base/state-folder.ts'
import { askGitSync } from '../../base/tracked.ts'
import { readTextIn } from './inside.ts'
import { readPlan } from './read-run.ts'

/**
 * Why a record counts as foreign. `no_id`: it has no usable signature, like those of 0.1.0. `other_id`: signed
 * with another key, or in another project. `tracked`: git tracks it, so it may come from others. `changed`:
 * made here, but its plan was changed.
 */
export type Foreign = 'no_id' | 'other_id' | 'other_user' | 'tracked' | 'changed'

type Environment = Readonly<Record<string, string | undefined>>

const SIGNATURE = 'signature'
/** A signature of an older version, which does not cover the plan. */
const WITHOUT_PLAN = /^[0-9a-f]{64}$/
const GROUP_AND_OTHERS = 0o077
const WRITABLE_BY_OTHERS = 0o022

/**
 * Distinguishes records that this user made on this machine from those that came with a project. Own
 * records are signed with a key outside all projects. The first line of a signature has the hashes of
 * the plans that the run was started and resumed with. Each further line is a proof of these hashes, the
 * id and the location: one for the path, which a restored backup keeps, and one for the inode, which a
 * moved project keeps.
 */
export class Origins {
  readonly #env: Environment
  #key: { readonly text: string | undefined } | undefined
  /** The ids of the records that git tracks, by folder. */
  readonly #tracked = new Map<string, ReadonlySet<string>>()

  constructor(env: Environment) {
    this.#env = env
  }

  /** Undefined if the record was made here. Asks git only about unsigned records. */
  check(folder: string): Foreign | undefined {
    return this.isSigned(folder) ? undefined : this.checkStrictly(folder)
  }

  /** For a record that is about to be run or changed: also detects that parts of it were replaced. */
  checkStrictly(folder: string): Foreign | undefined {
    const found = this.#judge(folder)
    if (found !== 'other_user' && this.#isTracked(folder)) return 'tracked'
    return found === undefined && isPlanChanged(folder) ? 'changed' : found
  }

  /** The fastest check, for every start. */
  isSigned(folder: string): boolean {
    return this.#judge(folder) === undefined
  }

  /** Signs a record with its current or next plan; false if the key cannot be stored. */
  sign(folder: string, plan: unknown): boolean {
    try {
      if (this.#key?.text === undefined) this.#key = { text: makeKey(this.#env) }
      const key = this.#key.text
      if (key === undefined) return false
      // If this process is killed before the new plan is written, the record still has the old one.
      const before = this.isSigned(folder) ? hashesIn(folder) : []
      const hashes = [...new Set([hashOf(plan), ...before])].join(' ')
      const lines = [hashes, ...proofs(folder, hashes, key), '']
      withFileIn(folder, SIGNATURE, (path) =>
        writeFileAtomic(path, lines.join('\n'), { durable: false, mode: 0o600 }),
      )
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
    if (found === undefined || WITHOUT_PLAN.test(found)) return 'no_id'
    const key = (this.#key ??= { text: readKey(keyPath(this.#env)) }).text
    if (key === undefined) return 'other_id'
    const [hashes = '', ...lines] = found.split('\n')
    return proofs(folder, hashes, key).some((proof) => lines.includes(proof))
      ? undefined
      : 'other_id'
  }

  #isTracked(folder: string): boolean {
    const root = dirname(folder)
    const known = this.#tracked.get(root) ?? listTracked(root, this.#env)
    this.#tracked.set(root, known)
    return known.has(basename(folder))
  }
}

/** The proofs cover write permissions: a record that others may write to needs a new signature. */
function proofs(folder: string, hashes: string, key: string): string[] {
  const root = realpathSync(dirname(folder))
  const mode = (lstatOf(folder)?.mode ?? 0) & WRITABLE_BY_OTHERS
  return [root, lstatSync(root).ino].map((place) => {
    const text = JSON.stringify(['record', basename(folder), mode, hashes, place])
    return new Bun.CryptoHasher('sha256', key).update(text).digest('hex')
  })
}

/** Without a plan there is nothing to run. */
function isPlanChanged(folder: string): boolean {
  try {
    const found = readPlan(folder)
    return found !== undefined && !hashesIn(folder).includes(hashOf(found.plan))
  } catch (error) {
    return errorCode(error) !== 'ENOENT'
  }
}

function hashesIn(folder: string): string[] {
  return readIfThere(folder)?.split('\n', 1)[0]?.split(' ') ?? []
}

function hashOf(plan: unknown): string {
  return new Bun.CryptoHasher('sha256').update(JSON.stringify(plan ?? null)).digest('hex')
}

function listTracked(root: string, env: Environment): ReadonlySet<string> {
  if (repositoryTop(root) === undefined) return new Set()
  const paths = askGitSync(root, ['ls-files', '-z', '--', '.'], env) ?? ''
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

/** Ignores a key that others can read or could have planted. */
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
    if (!stat.isFile() || !isOwn || (stat.mode & GROUP_AND_OTHERS) !== 0) return undefined
    return /^[0-9a-f]{64}\n$/.exec(readFileSync(fd, 'utf8'))?.[0]
  } finally {
    closeSync(fd)
  }
}

/** If several processes start at once, one creates the key and all use it. */
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
