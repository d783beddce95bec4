import { readdirSync } from 'node:fs'
import { errorCode, errorText, UserError } from '../../base/errors.ts'
import { statOf } from '../../base/files.ts'
import { makePrints, type Folder } from './fingerprints.ts'

/** The files of a folder with what tells whether one has changed. */
export function readFolder(path: string): Folder {
  const files = listFiles(path)
  const prints = makePrints(files.length)
  for (let at = 0; at < files.length; at++) {
    const stat = statOf(`${path}/${files[at]}`)
    if (stat === undefined) continue
    prints.mtimes[at] = stat.mtimeMs
    prints.sizes[at] = stat.size
    prints.inodes[at] = stat.ino
  }
  return { files, prints, listing: Bun.hash(files.join('\0')) }
}

/** Names of the files that are tasks, or should be. */
export function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.md') && !name.startsWith('.'))
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return []
    throw new CannotRead(
      `The tasks in ${folder} cannot be read: ${errorText(error)}`,
      errorCode(error) === 'EACCES'
        ? `Give this user the right to read it: chmod u+rx "${folder}"`
        : 'See to the folder, then try again.',
    )
  }
}

/** A folder that is closed to this user. */
class CannotRead extends UserError {
  override readonly exitCode = 1
}

/** All names in a folder; none where it cannot be read. */
export function listNames(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
