import { relative } from 'node:path'
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
  if (listNames(tasksFolder).length > 0 && (await isIgnored(git, tasks)))
    return {
      reason: 'error',
      detail: `${tasks} is ignored by git, so worktrees would have no tasks`,
    }
  const options = ['--porcelain', '-z', '--no-renames', '--untracked-files=all']
  const paths = (await git('status', ...options, '--ignore-submodules=dirty'))
    .split('\0')
    .filter((line) => line !== '')
    .map((line) => line.slice(3))
  const isTask = (path: string) => path.startsWith(`${tasks}/`)
  const others = paths.filter((path) => !isTask(path))
  if (others.length > 0) return { reason: 'error', detail: describe(others, folder) }
  if (paths.length === 0) return undefined
  await git('add', '--all', '--', tasks)
  await git('commit', '--quiet', '-m', 'Update the tasks', '--', tasks)
  return undefined
}

async function isIgnored(
  git: (...args: string[]) => Promise<string>,
  path: string,
): Promise<boolean> {
  return git('check-ignore', '--quiet', path).then(
    () => true,
    () => false,
  )
}

function describe(paths: readonly string[], folder: string): string {
  const named = paths.slice(0, MOST_NAMED).join(', ')
  const more = paths.length > MOST_NAMED ? ` and ${paths.length - MOST_NAMED} more` : ''
  return `${folder} has uncommitted changes that worktrees would not contain: ${named}${more}; commit or stash them, then resume`
}
