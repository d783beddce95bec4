import { readdirSync, statSync } from 'node:fs'
import { errorCode, errorText } from '../../base/errors.ts'
import { statOf } from '../../base/files.ts'
import { Refused } from '../refused.ts'

/** Detects whether a file has changed. Clocks may go backwards, so a time alone is not enough. */
export interface FileStamp {
  readonly mtimeMs: number
  readonly ctimeMs: number
  readonly size: number
  readonly ino: number
}

export function stampOf(stat: FileStamp | undefined): FileStamp | null {
  if (stat === undefined) return null
  const { mtimeMs, ctimeMs, size, ino } = stat
  return { mtimeMs, ctimeMs, size, ino }
}

/** The Markdown files in a folder; null for a broken link. */
export function readFolder(path: string): Map<string, FileStamp | null> {
  return new Map(listFiles(path).map((file) => [file, stampOf(statOf(`${path}/${file}`))]))
}

export function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.md') && !name.startsWith('.'))
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return []
    throw new Refused(
      `Cannot read the tasks in ${folder}: ${errorText(error)}`,
      errorCode(error) === 'EACCES'
        ? `Give this user read permission: chmod u+rx "${folder}"`
        : 'Check the folder, then retry.',
    )
  }
}

/** Identifies a folder even after it was moved; an archive cannot know this value in advance. */
export function folderIdentity(folder: string): string {
  const { ino, birthtimeNs } = statSync(folder, { bigint: true })
  return `${ino}-${birthtimeNs}`
}
