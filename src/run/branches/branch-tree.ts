import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findOperation } from '../../base/git-operations.ts'
import { succeeds } from '../../base/errors.ts'
import { lstatOf, realPathOf } from '../../base/files.ts'
import { branchIn, CHECKED_OUT } from '../../base/git.ts'
import { processesIn } from '../../base/linux/process-table.ts'
import { isAncestor, type Git } from '../merge/integrate.ts'
import { gitDirOf } from '../worktrees/worktree-plan.ts'

/** The worktree of a branch. */
export interface BranchTree {
  readonly path: string
  readonly gitDir: string
  /** The branch that belongs to it. */
  readonly branch: string
  readonly git: Git
}

/** Unlike other operations, a merge is completed by a commit. */
const MERGE = 'a merge'

/** The last commit of its branch; undefined if the branch was deleted. */
async function tipOfTree({ git, branch }: BranchTree): Promise<string | undefined> {
  const ref = `refs/heads/${branch}`
  return (await git('for-each-ref', '--format=%(objectname)', ref)).trim() || undefined
}

/** `a rebase`, if one is in progress. */
export function operationIn({ gitDir }: Pick<BranchTree, 'gitDir'>): string | undefined {
  return findOperation(gitDir)?.what
}

/** Repairs whatever prevents git from working in a worktree. Returns warnings. */
export function repair({ path, gitDir }: BranchTree): string[] {
  if (!existsSync(path)) return [`its worktree was deleted: ${path}`]
  const notes: string[] = []
  if (existsSync(gitDir) && isDetached(path, gitDir)) {
    const link = join(path, '.git')
    rmSync(link, { force: true })
    writeFileSync(link, `gitdir: ${gitDir}\n`)
    notes.push('the agent deleted or changed .git in its worktree; it was restored')
  }
  // A killed git left them: no other process works in this worktree.
  const locks = ['index.lock', 'HEAD.lock'].map((name) => join(gitDir, name))
  if (locks.some((lock) => existsSync(lock)) && processesIn(path).length === 0)
    for (const lock of locks) rmSync(lock, { force: true })
  return notes
}

/**
 * Whether git would find no repository in a worktree, or the wrong one. A repository created there by an agent
 * stays.
 */
function isDetached(path: string, gitDir: string): boolean {
  if (lstatOf(join(path, '.git'))?.isDirectory() === true) return false
  try {
    return realPathOf(gitDirOf(path)) !== realPathOf(gitDir)
  } catch {
    return true // There is no `.git`, or it is not a file.
  }
}

/** Changed paths, without ignored files; `tracked`: also without new files. */
export async function changedPaths(
  { git }: Pick<BranchTree, 'git'>,
  which: 'all' | 'tracked' = 'all',
): Promise<string[]> {
  const untracked = `--untracked-files=${which === 'all' ? 'all' : 'no'}`
  const options = ['--porcelain', '-z', '--no-renames', '--ignore-submodules=dirty', untracked]
  const lines = (await git('status', ...options)).split('\0')
  return lines.filter((line) => line !== '').map((line) => line.slice(3))
}

/**
 * Checks out the worktree's own branch again and moves new commits there: an agent may have switched to another
 * branch or detached HEAD. Returns warnings.
 */
export async function returnToBranch(
  tree: BranchTree,
  before: string | undefined,
): Promise<string[]> {
  const { git, branch } = tree
  const notes: string[] = []
  const head = (await git('rev-parse', '--verify', '--quiet', 'HEAD').catch(() => '')).trim()
  const on = branchIn(await git(...CHECKED_OUT).catch(() => ''))
  const tip = await tipOfTree(tree)
  if (on !== branch && head !== '' && operationIn(tree) === undefined) {
    const isAhead = tip === undefined || (await isAncestor(git, tip, head))
    const where = on === '' ? 'a detached HEAD' : `branch ${on}`
    if (isAhead) {
      await git('update-ref', `refs/heads/${branch}`, head)
      await git('symbolic-ref', 'HEAD', `refs/heads/${branch}`)
      notes.push(`the agent worked on ${where}; its commits are on ${branch} now`)
    } else {
      if (on === '') await keep(tree, head)
      const isBack = await succeeds(git('checkout', '--quiet', branch))
      notes.push(
        isBack
          ? `the agent switched from ${branch} to ${where}; its commits there stay on ${on || kept(branch, head)}`
          : `the worktree ${tree.path} is on ${where}, and git cannot switch it back to ${branch}`,
      )
    }
  }
  const now = await tipOfTree(tree)
  if (before === undefined || now === before) return notes
  if (now === undefined) {
    await git('update-ref', `refs/heads/${branch}`, before)
    return [...notes, `${branch} was deleted; it was restored with its last known commit`]
  }
  if (await isAncestor(git, before, now)) return notes
  await keep(tree, before)
  return [
    ...notes,
    `the history of ${branch} was rewritten; the earlier commits are on ${kept(branch, before)}`,
  ]
}

/** A hidden ref keeps the last commit of an iteration even if the agent runs `git gc`. */
export function tipRef(branch: string): string {
  return `refs/forkhestra/tips/${branch.replace(/^forkhestra\//, '')}`
}

/** The name of a branch for commits that no other branch contains any more. */
function kept(branch: string, commit: string): string {
  return `${branch}-${commit.slice(0, 7)}`
}

async function keep({ git, branch }: BranchTree, commit: string): Promise<void> {
  const holders = await git('for-each-ref', '--count=1', `--contains=${commit}`, 'refs/heads')
  if (holders === '') await git('update-ref', `refs/heads/${kept(branch, commit)}`, commit)
}

/** Commits everything in a folder except ignored files; false if an unfinished git operation prevents that. */
export async function commitRest(tree: BranchTree, author: string, folder = '.'): Promise<boolean> {
  const { git } = tree
  const operation = operationIn(tree)
  const changes = await changedPaths(tree)
  if (changes.length === 0 && operation === undefined) return true
  if (operation !== undefined && (operation !== MERGE || folder !== '.')) return false
  if ((await git('diff', '--name-only', '--diff-filter=U')) !== '') return false
  // For a nested repository, git would commit only a link to its commit.
  const repositories = changes.filter((each) => each.endsWith('/'))
  const others = repositories.map((each) => `:(exclude,literal)${each.slice(0, -1)}`)
  await git('add', '--all', '--', folder, ...others)
  if (operation === undefined && (await git('diff', '--cached', '--name-only')) === '') return true
  const email = (await git('config', 'user.email').catch(() => '')).trim() || 'forkhestra@localhost'
  const name = author.replaceAll(/[<>\n]/g, '')
  await git('commit', '--quiet', `--author=${name} <${email}>`, '-m', `Uncommitted work of ${name}`)
  return true
}

/**
 * Moves the worktree to another commit that contains all its work, unless there are uncommitted changes.
 * Returns whether it moved.
 */
export async function bringTo(
  tree: BranchTree,
  commit: string,
  hasAll: (tip: string) => Promise<boolean>,
): Promise<boolean> {
  const { git, branch } = tree
  const on = branchIn(await git(...CHECKED_OUT).catch(() => ''))
  const tip = await tipOfTree(tree)
  if (on !== branch || tip === undefined || tip === commit) return false
  if (operationIn(tree) !== undefined) return false
  if ((await changedPaths(tree, 'tracked')).length > 0 || !(await hasAll(tip))) return false
  // If a new file is in the way, the branch stays where it is.
  return succeeds(git('reset', '--quiet', '--keep', commit))
}
