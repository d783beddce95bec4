import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
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
  /** The place of both outside of git. */
  readonly local: string
  /** The way from the top of the repository to the project, mostly none. */
  readonly inside: string
}

/** Finds the database for a folder: the nearest one above it, or where a new one would be. */
export function findPlaces(cwd: string): Places {
  return placesAt(findRoot(realFolder(cwd)))
}

/** The database of exactly this project, which need not be there. */
export function placesAt(root: string): Places {
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
    local,
    inside: git === undefined || git === root ? '' : relative(git, root),
  }
}

/** A checkout as it is told to whoever stands in another one: by the shorter way to it. */
export function renderCheckout(root: string, { root: here }: Places): string {
  const way = relative(here, root)
  return way !== '' && way.length < root.length ? way : root
}

/** One folder has one name, however it was reached: claims are compared by it. */
function realFolder(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return resolve(path)
  }
}

function findRoot(cwd: string): string {
  const repository = findUp(cwd, '.git')
  const isInside = (folder: string) => repository === undefined || isAt(repository, folder)
  const database = findUp(cwd, 'forge/tasks', isFolder)
  if (database !== undefined) {
    // What lies around a repository is not its own, unless it is a part of a larger one.
    if (isInside(database) || findUp(database, '.git') !== undefined) return database
  }
  const forge = findUp(cwd, 'forge', isFolder)
  return forge !== undefined && isInside(forge) ? forge : (repository ?? cwd)
}

function isAt(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}

function isFolder(path: string): boolean {
  return statOf(path)?.isDirectory() === true
}

function isThere(path: string): boolean {
  return statOf(path) !== undefined
}

function findUp(from: string, name: string, isWanted = isThere): string | undefined {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    if (isWanted(join(folder, name))) return folder
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

export function readOrEmpty(path: string): string {
  if (!existsSync(path)) return ''
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
