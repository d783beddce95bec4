import { basename, dirname, join, resolve } from 'node:path'
import { statOf } from '../../base/files.ts'
import { listNames } from './folder.ts'
import { readOrEmpty } from '../../base/repository.ts'
import { placesAt, type Places } from './places.ts'
import type { Claim, State, Worktree } from './state.ts'

/** By what a claim remembers the checkout in which it was made. */
type Home = Pick<Claim, 'root' | 'worktree'>

export function homeOf(places: Places): Home {
  const worktree = worktreeOf(places)
  return worktree === undefined ? { root: places.root } : { root: places.root, worktree }
}

/** Undefined in the first checkout of a clone, and outside of git. */
function worktreeOf({ shared, own, inside }: Places): Worktree | undefined {
  if (own === shared) return undefined
  const folder = dirname(own)
  const worktree = { name: basename(folder), bornMs: bornMs(folder) }
  return inside === '' ? worktree : { ...worktree, inside }
}

/** Git writes this file when it makes a worktree, and never again. */
function bornMs(folder: string): number {
  return statOf(join(folder, 'commondir'))?.mtimeMs ?? 0
}

/** The database in which a claim was made, seen from another one of the clone; undefined where it is gone. */
export function checkoutOf(home: Home, here: Places): Places | undefined {
  if (isHere(home, here)) return here
  const root = home.worktree === undefined ? home.root : findProject(home.worktree, here)
  return root === undefined ? undefined : checkoutAt(root, here)
}

function isHere({ root, worktree }: Home, here: Places): boolean {
  if (worktree === undefined) return root === here.root
  const own = worktreeOf(here)
  return (
    own?.name === worktree.name && own.bornMs === worktree.bornMs && own.inside === worktree.inside
  )
}

/** Where it is by now: a worktree that is moved keeps its folder in that of git. */
function findProject({ name, bornMs: born, inside = '' }: Worktree, here: Places) {
  const folder = join(dirname(here.shared), 'worktrees', name)
  const top = bornMs(folder) === born ? topOf(folder) : undefined
  return top === undefined ? undefined : join(top, inside)
}

/** Git notes there where the `.git` of the worktree is, in newer versions by the way to it. */
function topOf(folder: string): string | undefined {
  const path = readOrEmpty(join(folder, 'gitdir')).trim()
  return path === '' ? undefined : dirname(resolve(folder, path))
}

function checkoutAt(root: string, here: Places): Places | undefined {
  const there = placesAt(root)
  // Another repository may be there by now, or only a project around it.
  if (there.shared !== here.shared) return undefined
  return statOf(there.tasks)?.isDirectory() === true ? there : undefined
}

/** Hundreds of claims may be of the same checkout. */
export function makeFinder(here: Places): (claim: Claim) => Places | undefined {
  const known = new Map<string, Places | undefined>()
  return (claim) => {
    if (claim.worktree === undefined && claim.root === here.root) return here
    const key = `${claim.root} ${claim.worktree?.bornMs}`
    if (!known.has(key)) known.set(key, checkoutOf(claim, here))
    return known.get(key)
  }
}

/** All checkouts of a clone that are there, for what has no place in only one of them. */
export function listCheckouts({ claims, seals = {} }: State, here: Places): Places[] {
  if (here.shared === here.local) return [here]
  const git = dirname(here.shared)
  const folders = listNames(join(git, 'worktrees')).map((name) => join(git, 'worktrees', name))
  const tops = [mainTop(git), ...folders.map(topOf)]
  const roots = tops.flatMap((top) => (top === undefined ? [] : [join(top, here.inside)]))
  // Git does not always know where its first checkout is.
  const known = [
    ...Object.keys(seals).map((tasks) => dirname(dirname(tasks))),
    ...Object.values(claims).map(({ root }) => root),
  ]
  const others = new Set([...roots, ...known])
  others.delete(here.root)
  return [here, ...[...others].flatMap((root) => checkoutAt(root, here) ?? [])]
}

/** The checkout to which the file of a task belongs; this one where none is known to. */
export function checkoutOfFile(path: string, state: State, here: Places): Places {
  const has = ({ tasks }: Places) => path.startsWith(join(tasks, '/'))
  return has(here) ? here : (listCheckouts(state, here).find(has) ?? here)
}

function mainTop(git: string): string {
  const elsewhere = /^\s*worktree\s*=\s*"?(.+?)"?\s*$/m.exec(readOrEmpty(join(git, 'config')))?.[1]
  return elsewhere === undefined ? dirname(git) : resolve(git, elsewhere)
}

/** The claim with the place at which its checkout is now, to be told of. */
export function located(claim: Claim, there: Places | undefined): Claim {
  return there === undefined || there.root === claim.root ? claim : { ...claim, root: there.root }
}
