import { basename, dirname, join, resolve } from 'node:path'
import { listNames, statOf } from '../../base/files.ts'
import { readOrEmpty } from '../../base/repository.ts'
import { taskFoldersAt, type TaskFolders } from '../folders.ts'
import type { Claim, State, WorktreeIdentity } from './state-shape.ts'

/** How a claim remembers the checkout in which it was made. */
type ClaimOrigin = Pick<Claim, 'root' | 'worktree'>

export function originOf(folders: TaskFolders): ClaimOrigin {
  const worktree = worktreeOf(folders)
  return worktree === undefined ? { root: folders.root } : { root: folders.root, worktree }
}

/** Undefined in the main worktree and outside git. */
function worktreeOf({ shared, own, inside }: TaskFolders): WorktreeIdentity | undefined {
  if (own === shared) return undefined
  const folder = dirname(own)
  const worktree = { name: basename(folder), bornMs: bornMs(folder) }
  return inside === '' ? worktree : { ...worktree, inside }
}

/** Git writes this file only when it creates the worktree. */
function bornMs(folder: string): number {
  return statOf(join(folder, 'commondir'))?.mtimeMs ?? 0
}

/** The checkout in which a claim was made; undefined if it was removed. */
export function checkoutOf(home: ClaimOrigin, here: TaskFolders): TaskFolders | undefined {
  if (isHere(home, here)) return here
  const root = home.worktree === undefined ? home.root : findProject(home.worktree, here)
  return root === undefined ? undefined : checkoutAt(root, here)
}

function isHere({ root, worktree }: ClaimOrigin, here: TaskFolders): boolean {
  if (worktree === undefined) return root === here.root
  const own = worktreeOf(here)
  return (
    own?.name === worktree.name && own.bornMs === worktree.bornMs && own.inside === worktree.inside
  )
}

/** A worktree that was moved keeps its name in `.git/worktrees`. */
function findProject({ name, bornMs: born, inside = '' }: WorktreeIdentity, here: TaskFolders) {
  const folder = join(dirname(here.shared), 'worktrees', name)
  const top = bornMs(folder) === born ? topOf(folder) : undefined
  return top === undefined ? undefined : join(top, inside)
}

/** The `gitdir` file has the path of the `.git` of the worktree, relative in newer versions of git. */
function topOf(folder: string): string | undefined {
  const path = readOrEmpty(join(folder, 'gitdir')).trim()
  return path === '' ? undefined : dirname(resolve(folder, path))
}

function checkoutAt(root: string, here: TaskFolders): TaskFolders | undefined {
  const there = taskFoldersAt(root)
  // The path may now belong to another repository.
  if (there.shared !== here.shared) return undefined
  return statOf(there.tasks)?.isDirectory() === true ? there : undefined
}

/** Caches the result, because many claims belong to the same checkout. */
export function makeCheckoutFinder(here: TaskFolders): (claim: Claim) => TaskFolders | undefined {
  const known = new Map<string, TaskFolders | undefined>()
  return (claim) => {
    if (claim.worktree === undefined && claim.root === here.root) return here
    const key = `${claim.root} ${claim.worktree?.bornMs}`
    if (!known.has(key)) known.set(key, checkoutOf(claim, here))
    return known.get(key)
  }
}

/** All existing checkouts of a clone. */
export function listCheckouts({ claims, main }: State, here: TaskFolders): TaskFolders[] {
  if (here.shared === here.local) return [here]
  const git = dirname(here.shared)
  const worktrees = listNames(join(git, 'worktrees')).map((name) => join(git, 'worktrees', name))
  const tops = [mainTop(git), main, ...worktrees.map(topOf)]
  const roots = tops.flatMap((top) => (top === undefined ? [] : [join(top, here.inside)]))
  const others = new Set([...roots, ...Object.values(claims).map(({ root }) => root)])
  others.delete(here.root)
  return [here, ...[...others].flatMap((root) => checkoutAt(root, here) ?? [])]
}

/** The checkout that a file belongs to; defaults to this one. */
export function checkoutOfFile(path: string, state: State, here: TaskFolders): TaskFolders {
  const has = ({ tasks }: TaskFolders) => path.startsWith(join(tasks, '/'))
  return has(here) ? here : (listCheckouts(state, here).find(has) ?? here)
}

function mainTop(git: string): string {
  const elsewhere = /^\s*worktree\s*=\s*"?(.+?)"?\s*$/m.exec(readOrEmpty(join(git, 'config')))?.[1]
  return elsewhere === undefined ? dirname(git) : resolve(git, elsewhere)
}

/** The claim with the current path of its checkout, for messages. */
export function withCurrentRoot(claim: Claim, there: TaskFolders | undefined): Claim {
  return there === undefined || there.root === claim.root ? claim : { ...claim, root: there.root }
}
