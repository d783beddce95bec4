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

/** Names of files that are being written begin so; one that is left over can be deleted. */
export const UNFINISHED = '.unfinished-'

export function unfinishedPath(folder: string, beginning: string = UNFINISHED): string {
  return join(folder, `${beginning}${randomLetters(12)}`)
}

interface WriteOptions {
  /** False where losing the last change in a power failure does no harm. */
  readonly durable: boolean
  readonly mode?: number | undefined
}

interface ReplaceOptions extends WriteOptions {
  /** How the name begins until it is written. */
  readonly unfinished?: string
}

/** Writes a file that must not be there yet; where it finds no room, it leaves none. */
export function writeNewFile(
  path: string,
  content: string | Uint8Array,
  options: WriteOptions,
): void {
  // Not for others to write, whatever the umask is.
  const fd = openSync(path, 'wx', 0o664)
  try {
    writeFileSync(fd, content)
    if (options.mode !== undefined) fchmodSync(fd, options.mode & 0o7777)
    // Without it a power failure could leave an empty file under the new name.
    if (options.durable) fsyncSync(fd)
  } catch (error) {
    rmSync(path, { force: true })
    throw error
  } finally {
    closeSync(fd)
  }
}

/** Replaces a file as a whole: a reader, and a crash at any moment, finds the old or the new one. */
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

/** Moves a file, also to where the system cannot: another disk, or another mount of the same one. */
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
