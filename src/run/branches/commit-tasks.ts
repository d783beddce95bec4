import { relative } from 'node:path'
import { changedPaths } from './branch-tree.ts'
import { listed } from '../../base/shorten.ts'
import { succeeds } from '../../base/errors.ts'
import { listNames } from '../../base/files.ts'
import { branchIn, CHECKED_OUT } from '../../base/git.ts'
import type { End } from '../../records/events/schema.ts'
import type { GitIn } from '../merge/move-branch.ts'
import { hasBranch } from './branch-worktree.ts'

interface Base {
  /** The root of the working tree in which the branch is checked out. */
  readonly folder: string
  readonly into: string
  readonly tasksFolder: string
  readonly gitIn: GitIn
}

/** Maximum number of changed files to name. */
const MOST_NAMED = 5

/**
 * Commits the task files so that new branches contain them. Other uncommitted changes would be missing there,
 * so they end the group; returns that end.
 */
export async function commitTasks({
  folder,
  into,
  tasksFolder,
  gitIn,
}: Base): Promise<End | undefined> {
  const git = (...args: string[]) => gitIn(folder, ...args)
  const on = branchIn(await git(...CHECKED_OUT).catch(() => ''))
  // The user has switched to another branch, or deleted this one: nothing here belongs to the branch that
  // worktrees start from.
  if (on !== into || !(await hasBranch(folder, into, gitIn))) return undefined
  const tasks = relative(folder, tasksFolder)
  if (listNames(tasksFolder).length > 0 && (await succeeds(git('check-ignore', '--quiet', tasks))))
    return {
      reason: 'error',
      detail: `${tasks} is ignored by git, so worktrees would have no tasks`,
    }
  const paths = await changedPaths({ git })
  const isTask = (path: string) => path.startsWith(`${tasks}/`)
  const others = paths.filter((path) => !isTask(path))
  if (others.length > 0) return { reason: 'error', detail: describe(others, folder) }
  if (paths.length === 0) return undefined
  await git('add', '--all', '--', tasks)
  await git('commit', '--quiet', '-m', 'Update the tasks', '--', tasks)
  return undefined
}

function describe(paths: readonly string[], folder: string): string {
  const named = listed(paths, MOST_NAMED)
  return `${folder} has uncommitted changes that worktrees would not contain: ${named}; commit or stash them, then resume`
}
