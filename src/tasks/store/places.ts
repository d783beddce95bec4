import { realpathSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { findProject } from '../../base/project.ts'
import { gitFolder, readOrEmpty, repositoryTop } from '../../base/repository.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The folders that belong to one task database. */
export interface Places {
  /** The project, to which `forge/` belongs. */
  readonly root: string
  /** The repository around it, or the project itself. */
  readonly top: string
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

/** The database of the project that a folder belongs to. */
export function findPlaces(cwd: string, env: Environment): Places {
  return placesAt(findProject(realFolder(cwd), env).folder)
}

/** The database of exactly this project, by whatever name it was reached. */
export function placesIn(project: string): Places {
  return placesAt(realFolder(project))
}

/** The database of exactly this project, which need not be there. */
export function placesAt(root: string): Places {
  // Of the project, not of a repository inside of it: whoever changes the same files shares one lock.
  const git = repositoryTop(root)
  const tasks = join(root, 'forge/tasks')
  const own = git === undefined ? undefined : gitFolder(git)
  const local = join(tasks, '.local')
  return {
    root,
    top: git ?? root,
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

function commonFolder(git: string): string {
  const pointer = readOrEmpty(join(git, 'commondir')).trim()
  return pointer === '' ? git : resolve(git, pointer)
}
