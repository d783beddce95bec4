import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { statOf } from '../../base/files.ts'

/** The folders that belong to one task database. */
export interface Places {
  /** The project, to which `forge/` belongs. */
  readonly root: string
  /** `forge/tasks`, which need not exist yet. */
  readonly tasks: string
  readonly archive: string
  /** What worktrees of one clone share: claims, the last id, the lock. */
  readonly shared: string
  /** What belongs to this checkout alone: the index. */
  readonly own: string
}

/** Finds the database for a folder: the nearest one above it, or where a new one would be. */
export function findPlaces(cwd: string): Places {
  const root = findUp(cwd, 'forge/tasks') ?? findUp(cwd, 'forge') ?? findUp(cwd, '.git') ?? cwd
  // Of the project, not of a repository inside of it: whoever changes the same files shares one lock.
  const git = findUp(root, '.git')
  const tasks = join(root, 'forge/tasks')
  const own = git === undefined ? undefined : gitFolder(git)
  const local = join(tasks, '.local')
  return {
    root,
    tasks,
    archive: join(tasks, 'archive'),
    shared: own === undefined ? local : join(commonFolder(own), 'forge-tasks'),
    own: own === undefined ? local : join(own, 'forge-tasks'),
  }
}

function findUp(from: string, name: string): string | undefined {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    if (statOf(join(folder, name)) !== undefined) return folder
    if (folder === dirname(folder)) return undefined
  }
}

/** Git keeps a file instead of a folder in worktrees and submodules. */
function gitFolder(root: string): string | undefined {
  const path = join(root, '.git')
  if (statOf(path)?.isDirectory()) return path
  const pointer = /^gitdir:\s*(.+?)\s*$/m.exec(readOrEmpty(path))?.[1]
  return pointer === undefined ? undefined : resolve(root, pointer)
}

function commonFolder(git: string): string {
  const pointer = readOrEmpty(join(git, 'commondir')).trim()
  return pointer === '' ? git : resolve(git, pointer)
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
