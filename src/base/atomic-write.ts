import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { randomLetters } from './ids.ts'

/** Names of files that are being written begin so; one that is left over can be deleted. */
export const UNFINISHED = '.unfinished-'

/** Replaces a file as a whole: a reader, and a crash at any moment, finds the old or the new one. */
export function writeFileAtomic(path: string, content: string, { durable = true } = {}): void {
  const unfinished = join(
    dirname(path),
    `${UNFINISHED}${randomLetters(8)}-${basename(path).slice(0, 40)}`,
  )
  try {
    const fd = openSync(unfinished, 'wx', 0o644)
    try {
      writeFileSync(fd, content)
      // Without it a power failure could leave an empty file under the new name.
      if (durable) fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    renameSync(unfinished, path)
  } catch (error) {
    rmSync(unfinished, { force: true })
    throw error
  }
}
