import {
  cpSync,
  existsSync,
  mkdirSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { errorText, succeeds } from '../../base/errors.ts'
import { listNames, lstatOf, realPathOf, removeIfEmpty } from '../../base/files.ts'
import type { GitIn } from '../merge/move-branch.ts'
import { addWorktree, adminFolders, gitDirOf } from '../worktrees/worktree-plan.ts'

/** Where the worktrees of a run are made. */
export interface Site {
  /** The root of the working tree in which the run was started. */
  readonly top: string
  /** The folder of the project, relative to `top`. */
  readonly inside: string
  /** The folder with all worktrees. */
  readonly folder: string
}

export async function findSite(cwd: string, gitIn: GitIn): Promise<Site> {
  const top = (await gitIn(cwd, 'rev-parse', '--show-toplevel')).replace(/\n$/, '')
  const folder = join(dirname(top), `${basename(top)}.worktrees`)
  return { top, inside: relative(top, realpathSync(cwd)), folder }
}

/** A free path and branch name for a worktree. */
export function freePath({ folder }: Site, name: string): string {
  return unusedPath(join(folder, name))
}

function unusedPath(wanted: string): string {
  let path = wanted
  for (let count = 2; lstatOf(path) !== undefined; count += 1) path = `${wanted}.${count}`
  return path
}

interface Wanted {
  readonly path: string
  /** Undefined for a detached worktree. */
  readonly branch: string | undefined
  /** The commit to start from, if the branch does not exist. */
  readonly base: string
}

/** An existing worktree; `isNew` if no agent has worked in it yet. */
export interface MadeWorktree {
  readonly path: string
  readonly gitDir: string
  readonly isNew: boolean
}

/** Marks a worktree as complete, in its git directory. Without this file, no agent has worked in it. */
const READY = 'forkhestra-ready'

/** Creates a worktree, or finds the one that an earlier process created. */
export async function makeWorktree(
  { top }: Site,
  { path, branch, base }: Wanted,
  gitIn: GitIn,
): Promise<MadeWorktree> {
  const known = await existingGitDir(top, path, gitIn)
  if (known !== undefined && isReady(known)) return { path, gitDir: known, isNew: false }
  // A folder that git no longer knows may contain work.
  if (known === undefined && branch !== undefined && listNames(path).length > 0)
    renameSync(path, unusedPath(path))
  await discardWorktree(top, path, gitIn)
  const isNew = branch !== undefined && !(await hasBranch(top, branch, gitIn))
  if (isNew) await addWorktree(gitIn, top, { path, branch, base })
  else {
    const options = branch === undefined ? ['--detach', path, base] : [path, branch]
    await gitIn(top, 'worktree', 'add', '--quiet', ...options)
  }
  return { path, gitDir: gitDirOf(path), isNew: true }
}

export function markReady({ gitDir }: MadeWorktree): void {
  writeFileSync(join(gitDir, READY), '')
}

/** Whether a worktree is complete, so that an agent may have worked in it. */
export function isReady(gitDir: string): boolean {
  return existsSync(join(gitDir, READY))
}

/**
 * Removes one worktree with everything in it. `git worktree prune` would also drop those on disks that are not
 * mounted.
 */
export async function discardWorktree(top: string, path: string, gitIn: GitIn): Promise<void> {
  const remove = () => succeeds(gitIn(top, 'worktree', 'remove', '--force', '--force', path))
  const isRemoved = await remove()
  rmSync(path, { recursive: true, force: true })
  // Git refuses a folder without `.git`, but accepts one that does not exist.
  if (!isRemoved) await remove()
  removeIfEmpty(dirname(path))
}

export async function hasBranch(top: string, branch: string, gitIn: GitIn): Promise<boolean> {
  return (await gitIn(top, 'for-each-ref', '--format=%(refname)', `refs/heads/${branch}`)) !== ''
}

/** The git directory of a worktree; undefined if there is none at this path. An agent may have replaced its `.git`. */
async function existingGitDir(
  top: string,
  path: string,
  gitIn: GitIn,
): Promise<string | undefined> {
  if (lstatOf(path) === undefined) return undefined
  const common = (await gitIn(top, 'rev-parse', '--git-common-dir')).replace(/\n$/, '')
  return adminFolders(resolve(top, common)).get(realPathOf(path) ?? path)
}

/** Copies files of the project into a new worktree; returns what could not be copied, and why. */
export function copyInto(path: string, { top, inside }: Site, names: readonly string[]): string[] {
  return names.flatMap((name) => {
    try {
      const target = join(path, inside, name)
      mkdirSync(dirname(target), { recursive: true })
      // A symbolic link in the repository must not lead out of the worktree.
      const folder = realpathSync(dirname(target))
      if (relative(realpathSync(path), folder).startsWith('..'))
        return [`${name}: outside the worktree`]
      // Files of the branch are not overwritten: a copied secret would be committed.
      cpSync(join(top, inside, name), join(folder, basename(target)), {
        recursive: true,
        force: false,
        verbatimSymlinks: true,
      })
      return []
    } catch (error) {
      return [`${name}: ${errorText(error)}`]
    }
  })
}

/** Ignored files and folders at the top of the project that a worktree does not have. */
export async function missingIgnored(
  path: string,
  { top, inside }: Site,
  gitIn: GitIn,
): Promise<string[]> {
  const from = join(top, inside)
  const options = ['--others', '--ignored', '--exclude-standard', '--directory', '-z']
  const names = (await gitIn(from, 'ls-files', ...options))
    .split('\0')
    .map((name) => name.replace(/\/$/, ''))
  const isTop = (name: string) => name !== '' && !name.includes('/')
  return names.filter((name) => isTop(name) && realPathOf(join(path, inside, name)) === undefined)
}
