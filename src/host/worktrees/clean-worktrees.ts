import { dirname } from 'node:path'
import { removeIfEmpty } from '../../base/files.ts'
import { errorText } from '../../base/errors.ts'
import { holdFolder } from '../../base/linux/lock.ts'
import { tipRef } from '../../run/branches/branch-tree.ts'
import type { FrontEnd } from '../front-end.ts'
import type { Candidate } from './candidates.ts'
import { describe, findLeftWork, isUsed, survey, type Survey } from './find-left-work.ts'
import type { LeftWork } from '../../views/worktrees.ts'
import { runOfPath } from './repository.ts'

export interface CleanedWorktrees {
  readonly removed: readonly LeftWork[]
  /** What was not removed; `blocker` says why. */
  readonly kept: readonly LeftWork[]
}

/** Removes worktrees and branches of runs that contain nothing to lose. */
export async function cleanWorktrees(
  asker: Pick<FrontEnd, 'env' | 'project'>,
): Promise<CleanedWorktrees> {
  const removed: LeftWork[] = []
  const kept: LeftWork[] = []
  for (const left of await findLeftWork(asker)) {
    const blocker = left.blocker ?? (await removeOne(left, asker))
    if (blocker === undefined) removed.push(left)
    else kept.push({ ...left, blocker })
  }
  return { removed, kept }
}

/** Checks again, because something may have changed, and removes it; returns the reason if it cannot. */
async function removeOne(
  { path, branch }: LeftWork,
  asker: Pick<FrontEnd, 'env' | 'project'>,
): Promise<string | undefined> {
  const found = await survey(asker)
  const candidate = found.candidates.find((each) => each.path === path && each.branch === branch)
  if (candidate === undefined) return undefined
  const record = found.runs.get(candidate.run)?.folder
  // Keeps a resume from using it.
  const giveBack = record === undefined ? undefined : holdFolder(record)
  if (record !== undefined && giveBack === undefined) return 'its run is active'
  try {
    const { blocker } = await describe(candidate, found)
    if (blocker === undefined) await remove(candidate, found)
    return blocker
  } catch (error) {
    if (!(error instanceof Error)) throw error
    return errorText(error)
  } finally {
    giveBack?.()
  }
}

async function remove({ kind, tree, path, branch }: Candidate, found: Survey): Promise<void> {
  const { git, here, repository } = found
  if (tree !== undefined) {
    // Without `--force`, git itself checks for changes once more.
    const force = isUsed(kind, tree.gitDir) ? [] : ['--force', '--force']
    await git.in(here, 'worktree', 'remove', ...force, tree.path)
  }
  const tip = branch === undefined ? undefined : repository.branches.get(branch)
  // Only if it has not moved since it was inspected.
  if (tip !== undefined) await git.in(here, 'update-ref', '-d', `refs/heads/${branch}`, tip)
  if (branch !== undefined) await git.in(here, 'update-ref', '-d', tipRef(branch))
  if (path !== undefined && runOfPath(path) !== undefined) removeIfEmpty(dirname(path))
}
