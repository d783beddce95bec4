import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errorCode } from './errors.ts'
import { randomLetters } from './ids.ts'

/** Names of files that are being written begin so; one that is left over can be deleted. */
export const UNFINISHED = '.unfinished-'

interface WriteOptions {
  /** False where losing the last change in a power failure does no harm. */
  readonly durable?: boolean
  /** Where to write it first; on another disk it is written next to its place instead. */
  readonly via?: string
}

/** Replaces a file as a whole: a reader, and a crash at any moment, finds the old or the new one. */
export function writeFileAtomic(path: string, content: string, options: WriteOptions = {}): void {
  const { durable = true, via = dirname(path) } = options
  const unfinished = join(via, `${UNFINISHED}${randomLetters(12)}`)
  try {
    writeNew(unfinished, content, durable)
    renameSync(unfinished, path)
  } catch (error) {
    rmSync(unfinished, { force: true })
    if (errorCode(error) !== 'EXDEV' || via === dirname(path)) throw error
    writeFileAtomic(path, content, { durable })
  }
}

function writeNew(path: string, content: string, durable: boolean): void {
  const fd = openSync(path, 'wx', 0o644)
  try {
    writeFileSync(fd, content)
    // Without it a power failure could leave an empty file under the new name.
    if (durable) fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
