import {
  chmodSync,
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  openSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { errorCode } from './errors.ts'
import { lstatOf } from './files.ts'

const OWNER_ONLY = 0o700
const GROUP_AND_OTHERS = 0o077

/** Creates a folder that only its owner can read, or restricts an existing one of this user. */
export function makePrivateFolder(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 })
  try {
    mkdirSync(path, { mode: OWNER_ONLY })
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
    closeToOthers(path)
  }
}

function closeToOthers(path: string): void {
  const { mode, uid } = lstatSync(path)
  const isOurs = process.getuid === undefined || uid === process.getuid()
  const isFolder = (mode & 0o170000) === 0o040000
  if (isFolder && isOurs && (mode & GROUP_AND_OTHERS) !== 0) chmodSync(path, OWNER_ONLY)
}

const { O_WRONLY, O_CREAT, O_NOFOLLOW } = constants

/** Makes git ignore a folder, even after an agent deleted its `.gitignore`; safe for many processes at once. */
export function keepOutOfGit(folder: string): void {
  const path = join(folder, '.gitignore')
  const stat = lstatOf(path)
  const isOwn = stat?.isFile() === true && stat.nlink === 1
  if (isOwn && stat.size > 0) return
  // The target of a link is not ours. An existing file is kept, because its lock may be in use.
  if (stat !== undefined && !isOwn) rmSync(path, { force: true })
  const fd = openSync(path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0o600)
  writeFileSync(fd, '*\n')
  closeSync(fd)
}
