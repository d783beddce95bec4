import {
  closeSync,
  fchmodSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { errorCode } from './errors.ts'
import { randomLetters } from './ids.ts'

/** Prefix of files that are still being written; a leftover one can be deleted. */
export const UNFINISHED = '.unfinished-'

export function unfinishedPath(folder: string, prefix: string = UNFINISHED): string {
  return join(folder, `${prefix}${randomLetters(12)}`)
}

interface WriteOptions {
  /** False if losing the last change in a power failure does no harm. */
  readonly durable: boolean
  readonly mode?: number | undefined
}

interface ReplaceOptions extends WriteOptions {
  /** Prefix of the temporary file's name. */
  readonly unfinished?: string
}

/** Writes a file that must not exist yet, and removes it again if writing fails. */
export function writeNewFile(
  path: string,
  content: string | Uint8Array,
  options: WriteOptions,
): void {
  // Never writable by others, regardless of the umask.
  const fd = openSync(path, 'wx', 0o664)
  try {
    writeFileSync(fd, content)
    if (options.mode !== undefined) fchmodSync(fd, options.mode & 0o7777)
    // Otherwise a power failure could leave an empty file under the new name.
    if (options.durable) fsyncSync(fd)
  } catch (error) {
    rmSync(path, { force: true })
    throw error
  } finally {
    closeSync(fd)
  }
}

/** Replaces a file in one step: readers see the old or the new content, even after a crash. */
export function writeFileAtomic(
  path: string,
  content: string | Uint8Array,
  options: ReplaceOptions,
): void {
  const unfinished = unfinishedPath(dirname(path), options.unfinished)
  writeNewFile(unfinished, content, options)
  try {
    renameSync(unfinished, path)
  } catch (error) {
    rmSync(unfinished, { force: true })
    throw error
  }
}

/** Moves a file, even to another disk or mount. */
export function moveFile(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    if (errorCode(error) !== 'EXDEV') throw error
    const { mode } = statSync(from)
    writeFileAtomic(to, readFileSync(from), { durable: true, mode })
    rmSync(from)
  }
}
