import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { statOf } from './files.ts'

/** Whether a folder is the top of a repository; in worktrees and submodules `.git` is a file. */
export function holdsRepository(folder: string): boolean {
  return statOf(join(folder, '.git')) !== undefined
}

/** The top of the repository that a folder belongs to; git itself need not be asked, or installed. */
export function repositoryTop(folder: string): string | undefined {
  if (holdsRepository(folder)) return folder
  const parent = dirname(folder)
  return parent === folder ? undefined : repositoryTop(parent)
}

/** The folder in which git keeps what belongs to a checkout; undefined where there is none. */
export function gitFolder(top: string): string | undefined {
  const path = join(top, '.git')
  if (statOf(path)?.isDirectory() === true) return path
  const pointer = /^gitdir:\s*(.+?)\s*$/m.exec(readOrEmpty(path))?.[1]
  return pointer === undefined ? undefined : resolve(top, pointer)
}

/** A file of git's, which need not be there, or readable. */
export function readOrEmpty(path: string): string {
  try {
    return statOf(path)?.isFile() === true ? readFileSync(path, 'utf8') : ''
  } catch {
    return ''
  }
}

export function isInRepository(folder: string): boolean {
  return repositoryTop(folder) !== undefined
}
