import { readdirSync } from 'node:fs'
import { errorCode, errorText, UserError } from '../../base/errors.ts'
import { statOf } from '../../base/files.ts'
import { makePrints, type Folder } from './fingerprints.ts'
import { askSystem } from './folder-linux.ts'

export function readFolder(path: string): Folder {
  return askSystem(path) ?? askOneByOne(path, listFiles(path))
}

function askOneByOne(path: string, files: readonly string[]): Folder {
  const prints = makePrints(files.length)
  for (let at = 0; at < files.length; at++) {
    const stat = statOf(`${path}/${files[at]}`)
    prints.mtimes[at] = stat?.mtimeMs ?? 0
    prints.sizes[at] = stat?.size ?? 0
    prints.inodes[at] = stat?.ino ?? 0
  }
  return { count: files.length, files: () => files, prints, listing: 0n }
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
