import { chmodSync, lstatSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { errorCode } from './errors.ts'

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
