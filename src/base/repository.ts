import { readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { lstatOf, realPathOf, statOf } from './files.ts'

/** Whether a folder is the top of a repository; in worktrees and submodules `.git` is a file. */
export function holdsRepository(folder: string): boolean {
  return statOf(join(folder, '.git')) !== undefined
}

/** The top of the repository that a folder belongs to. Works without git. */
export function repositoryTop(folder: string): string | undefined {
  if (holdsRepository(folder)) return folder
  const parent = dirname(folder)
  return parent === folder ? undefined : repositoryTop(parent)
}

/**
 * The git folder of a checkout; undefined if there is none. A file `.git` may have come with the project
 * and point anywhere, so it counts only if it leads to a git folder that points back: that of a worktree
 * names the file, that of a submodule the working tree. Symbolic links are ignored.
 */
export function gitFolder(top: string): string | undefined {
  const path = join(top, '.git')
  const stat = lstatOf(path)
  if (stat?.isDirectory() === true) return path
  const pointer =
    stat?.isFile() === true ? /^gitdir:\s*(.+?)\s*$/m.exec(readOrEmpty(path))?.[1] : undefined
  if (pointer === undefined) return undefined
  const folder = resolve(top, pointer)
  return pointsBack(folder, top) ? folder : undefined
}

function pointsBack(folder: string, top: string): boolean {
  const file = readOrEmpty(join(folder, 'gitdir')).trim()
  if (file !== '') return isSame(resolve(folder, file), join(top, '.git'))
  const settings = ['config', 'config.worktree'].map((name) => readOrEmpty(join(folder, name)))
  const tree = /^\s*worktree\s*=\s*"?(.+?)"?\s*$/im.exec(settings.join('\n'))?.[1]
  if (tree !== undefined) return isSame(resolve(folder, tree), top)
  // `git init --separate-git-dir` records neither; any other folder is bare, or belongs to its parent.
  const isBare = /^\s*bare\s*=\s*true/im.test(settings.join('\n'))
  return !isBare && isGitFolder(folder) && basename(realPathOf(folder) ?? '.git') !== '.git'
}

function isGitFolder(folder: string): boolean {
  return ['HEAD', 'objects', 'refs'].every((name) => statOf(join(folder, name)) !== undefined)
}

/** The git folder that the worktrees of a clone share. */
export function commonGitFolder(own: string): string {
  const pointer = readOrEmpty(join(own, 'commondir')).trim()
  if (pointer === '') return own
  const common = resolve(own, pointer)
  const isCommon = isSame(dirname(own), join(common, 'worktrees')) && isGitFolder(common)
  return isCommon ? common : own
}

function isSame(one: string, other: string): boolean {
  const path = realPathOf(one)
  return path !== undefined && path === realPathOf(other)
}

/** Much more than our own files and those of git, unlike a sparse file from an archive. */
const MOST_BYTES = 256 * 1024 * 1024

/** The content of a file, or an empty text if it cannot be read or is too large. */
export function readOrEmpty(path: string): string {
  try {
    const stat = statOf(path)
    return stat?.isFile() === true && stat.size <= MOST_BYTES ? readFileSync(path, 'utf8') : ''
  } catch {
    return ''
  }
}

export function isInRepository(folder: string): boolean {
  return repositoryTop(folder) !== undefined
}

/** Whether a folder is inside a repository without a working tree. */
export function isBareRepository(folder: string): boolean {
  if (isInRepository(folder)) return false
  const parent = dirname(folder)
  return isGitFolder(folder) || (parent !== folder && isBareRepository(parent))
}
