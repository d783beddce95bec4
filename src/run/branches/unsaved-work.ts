import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { lstatOf } from '../../base/files.ts'
import { changedPaths, operationIn, type BranchTree } from './branch-tree.ts'

/** What a worktree contains besides commits on branches; empty if nothing. */
export async function unsavedWork(
  tree: BranchTree,
  isMerged: (commit: string) => Promise<boolean>,
): Promise<string[]> {
  const operation = operationIn(tree)
  const isDirty = (await changedPaths(tree)).length > 0 || (await hasHiddenChanges(tree))
  const repositories = await ownRepositories(tree)
  return [
    ...((await isAwayWithCommits(tree, isMerged)) ? ['commits on no branch'] : []),
    ...(operation === undefined ? [] : [`${operation} in progress`]),
    ...(isDirty ? ['uncommitted changes'] : []),
    ...repositories.map((path) => `a nested repository with work that no remote has: ${path}`),
  ]
}

/** Whether commits are only on a detached HEAD. */
async function isAwayWithCommits(
  { git }: BranchTree,
  isMerged: (commit: string) => Promise<boolean>,
): Promise<boolean> {
  const head = (await git('rev-parse', '--verify', '--quiet', 'HEAD').catch(() => '')).trim()
  const on = await git('symbolic-ref', '--quiet', 'HEAD').catch(() => '')
  if (head === '' || on !== '' || (await isMerged(head))) return false
  return (await git('for-each-ref', '--count=1', `--contains=${head}`, 'refs/heads')) === ''
}

/** More hidden files than this are not compared; they count as changed. */
const MOST_HIDDEN = 200

/** Changes in files marked assume-unchanged or skip-worktree. */
async function hasHiddenChanges({ git, path }: BranchTree): Promise<boolean> {
  const lines = (await git('ls-files', '-v', '-z')).split('\0')
  const hidden = lines
    .filter((line) => /^(?:[a-z]|S) /.test(line))
    .map((line) => line.slice(2))
    // Those outside a sparse checkout do not exist.
    .filter((name) => lstatOf(join(path, name))?.isFile() === true)
  if (hidden.length === 0) return false
  if (hidden.length > MOST_HIDDEN) return true
  const entries = (await git('--literal-pathspecs', 'ls-files', '--stage', '-z', '--', ...hidden))
    .split('\0')
    .filter((entry) => entry !== '')
  const known = new Map(
    entries.map((entry) => [entry.slice(entry.indexOf('\t') + 1), entry.split(' ')[1]]),
  )
  const found = (await git('hash-object', '--', ...hidden)).trim().split('\n')
  return hidden.some((name, at) => known.get(name) !== found[at])
}

/** Nested repositories, such as submodules, with work that none of their remotes has. */
async function ownRepositories(tree: BranchTree): Promise<string[]> {
  const { git, path } = tree
  const links = (await git('ls-files', '--stage', '-z'))
    .split('\0')
    .filter((line) => line.startsWith('160000 '))
    .map((line) => line.slice(line.indexOf('\t') + 1))
    .filter((name) => existsSync(join(path, name, '.git')))
  const found: string[] = []
  // The worktree was turned into a separate repository.
  if (lstatOf(join(path, '.git'))?.isDirectory() === true) found.push('.')
  for (const name of links) if (await hasOwnWork(tree, join(path, name))) found.push(name)
  return found
}

async function hasOwnWork({ git }: BranchTree, folder: string): Promise<boolean> {
  const inside = [`--git-dir=${join(folder, '.git')}`, `--work-tree=${folder}`]
  try {
    const changes = await git(...inside, 'status', '--porcelain', '--untracked-files=all')
    const own = await git(...inside, 'rev-list', '-n1', '--all', 'HEAD', '--not', '--remotes')
    return changes !== '' || own !== ''
  } catch {
    return true
  }
}
