import { realpathSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { findProject } from '../base/project.ts'
import { commonGitFolder, gitFolder, repositoryTop } from '../base/repository.ts'
import type { Environment } from '../base/environment.ts'

export interface TaskFolders {
  /** The project folder, which contains `forge/`. */
  readonly root: string
  /** The top of the repository, or the project itself. */
  readonly top: string
  /** `forge/tasks`, which may not exist yet. */
  readonly tasks: string
  readonly archive: string
  /** Shared by the worktrees of a clone: claims, the last id, the lock. */
  readonly shared: string
  /** For this checkout only: the index. */
  readonly own: string
  /** Replaces both outside git. */
  readonly local: string
  /** The path from the top of the repository to the project, usually empty. */
  readonly inside: string
}

/** Finds the project that contains a folder. */
export function findTaskFolders(cwd: string, env: Environment): TaskFolders {
  return taskFoldersAt(findProject(realFolder(cwd), env).folder)
}

/** Resolves symbolic links in the path of the project. */
export function taskFoldersIn(project: string): TaskFolders {
  return taskFoldersAt(realFolder(project))
}

/** The project need not exist. */
export function taskFoldersAt(root: string): TaskFolders {
  // The repository around the project: all processes that change the same files must share one lock.
  const git = repositoryTop(root)
  const tasks = join(root, 'forge/tasks')
  const own = git === undefined ? undefined : gitFolder(git)
  const local = join(tasks, '.local')
  return {
    root,
    top: git ?? root,
    tasks,
    archive: join(tasks, 'archive'),
    shared: own === undefined ? local : join(commonGitFolder(own), 'forge-tasks'),
    own: own === undefined ? local : join(own, 'forge-tasks'),
    local,
    inside: git === undefined || git === root ? '' : relative(git, root),
  }
}

/** The relative or absolute path to a checkout, whichever is shorter. */
export function renderCheckout(root: string, { root: here }: TaskFolders): string {
  const way = relative(here, root)
  return way !== '' && way.length < root.length ? way : root
}

/** Claims are compared by path, so each folder needs one canonical path. */
function realFolder(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return resolve(path)
  }
}
