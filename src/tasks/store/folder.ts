import { readdirSync } from 'node:fs'
import { errorCode, errorText, UserError } from '../../base/errors.ts'
import { statOf } from '../../base/files.ts'

/** Detects changed files, by position in the listing; all zero for a broken link. */
export interface Fingerprints {
  readonly mtimes: Float64Array
  readonly sizes: Float64Array
  readonly inodes: Float64Array
}

function makeFingerprints(count: number): Fingerprints {
  return {
    mtimes: new Float64Array(count),
    sizes: new Float64Array(count),
    inodes: new Float64Array(count),
  }
}

export interface Folder {
  readonly files: readonly string[]
  readonly prints: Fingerprints
  /** A hash of the names in their order. */
  readonly listing: bigint
}

export function readFolder(path: string): Folder {
  const files = listFiles(path)
  const prints = makeFingerprints(files.length)
  for (let at = 0; at < files.length; at++) {
    const stat = statOf(`${path}/${files[at]}`)
    if (stat === undefined) continue
    prints.mtimes[at] = stat.mtimeMs
    prints.sizes[at] = stat.size
    prints.inodes[at] = stat.ino
  }
  return { files, prints, listing: Bun.hash(files.join('\0')) }
}

/** Names of the Markdown files in a folder. */
export function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.md') && !name.startsWith('.'))
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return []
    throw new CannotRead(
      `Cannot read the tasks in ${folder}: ${errorText(error)}`,
      errorCode(error) === 'EACCES'
        ? `Give this user read permission: chmod u+rx "${folder}"`
        : 'Check the folder, then retry.',
    )
  }
}

class CannotRead extends UserError {
  override readonly exitCode = 1
}

/** All names in a folder; empty if it cannot be read. */
export function listNames(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
