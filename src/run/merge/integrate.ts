import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { StopError } from '../process/git.ts'
import { UserError } from '../../base/errors.ts'

/** Runs git in one folder; throws stderr as an error. */
export type Git = (...args: string[]) => Promise<string>

/** Whether the commits of a branch are merged as they are, or copied onto the target branch. */
export type MergeMethod = 'rebase' | 'merge'

/** The run's own worktree, in which merges are prepared and tested; nobody else works in it. */
export interface IntegrationTree {
  readonly path: string
  readonly gitDir: string
  readonly git: Git
}

export interface Integration {
  /** The commit to build on. */
  readonly onto: string
  /** The commit that is handed in. */
  readonly tip: string
  /** An earlier tip of the same branch that was already merged as copies. */
  readonly merged?: string | undefined
  /** The commit of the target branch that the work builds on; the user may have removed it from that branch. */
  readonly given?: string
  readonly method: MergeMethod
  /** Names the branch in a merge commit. */
  readonly branch: string
}

/** Commits and their copies, as in events. */
export type Copies = [original: string, copy: string][]

export type Integrated =
  | {
      readonly kind: 'ready'
      readonly commit: string
      /** How many commits of the branch are new in it. */
      readonly commits: number
      /** The commits of the branch and their copies, oldest first; empty if they are used as they are. */
      readonly copies: Copies
    }
  | Conflict

export interface Conflict {
  readonly kind: 'conflict'
  readonly files: readonly string[]
  /** The commits on the other side that changed these files, newest first. */
  readonly others: readonly string[]
}

/** Maximum number of commits to name on the other side. */
const MOST_OTHERS = 5
/** A longer command line would not be accepted. */
const MOST_PATHS = 500

/** Rebases or merges a branch onto another commit, and leaves the result checked out. */
export async function integrate(tree: IntegrationTree, request: Integration): Promise<Integrated> {
  const { git } = tree
  const { onto, tip, method } = request
  if (await isAncestor(git, tip, onto))
    return { kind: 'ready', commit: onto, commits: 0, copies: [] }
  const isStraight = method === 'rebase' && (await isAncestor(git, onto, tip))
  await checkOut(tree, isStraight ? tip : onto)
  if (isStraight)
    return { kind: 'ready', commit: tip, commits: await countNew(git, request), copies: [] }
  const commits = await newCommits(git, request)
  // Copying a merge commit would lose how its conflicts were resolved.
  return method === 'merge' || commits === undefined
    ? merge(tree, request)
    : copy(tree, request, commits)
}

/**
 * Removes whatever a killed process left in the tree. Ignored files stay, so dependencies are installed only
 * once.
 */
export async function checkOut({ git, gitDir }: IntegrationTree, commit: string): Promise<void> {
  for (const name of ['index.lock', 'HEAD.lock']) rmSync(join(gitDir, name), { force: true })
  for (const name of ['rebase-merge', 'rebase-apply', 'sequencer'])
    rmSync(join(gitDir, name), { recursive: true, force: true })
  await git('checkout', '--quiet', '--force', '--detach', commit)
  await git('clean', '--quiet', '-ffd')
}

export async function isAncestor(git: Git, commit: string, of: string): Promise<boolean> {
  return (await git('rev-list', '-n1', commit, `^${of}`)) === ''
}

/** The commits to copy, oldest first; undefined if merge commits are among them. */
async function newCommits(
  git: Git,
  { onto, tip, merged, given }: Integration,
): Promise<string[] | undefined> {
  const isBelow = (commit: string) => isAncestor(git, commit, tip).catch(() => false)
  const without = [
    ...(merged === undefined ? [] : [`^${merged}`]),
    ...(given !== undefined && (await isBelow(given)) ? [`^${given}`] : []),
  ]
  const lines = await git(
    'rev-list',
    '--reverse',
    '--topo-order',
    '--parents',
    tip,
    `^${onto}`,
    ...without,
  )
  const commits = split(lines, '\n').map((line) => line.split(' '))
  return commits.some((each) => each.length > 2) ? undefined : commits.map(([commit]) => commit!)
}

async function copy(
  tree: IntegrationTree,
  request: Integration,
  commits: readonly string[],
): Promise<Integrated> {
  if (commits.length === 0) return { kind: 'ready', commit: request.onto, commits: 0, copies: [] }
  const { git } = tree
  // Every commit gets a copy, even one that no longer changes anything, so that each is accounted for.
  const options = ['--allow-empty', '--allow-empty-message', '--keep-redundant-commits']
  const conflict = await attempt(tree, request, ['cherry-pick', ...options, ...commits])
  if (conflict !== undefined) return conflict
  const copied = (await git('rev-list', '--reverse', 'HEAD', `^${request.onto}`, '--'))
    .trim()
    .split('\n')
  const copies = commits.map((commit, at): Copies[number] => [commit, copied[at]!])
  return { kind: 'ready', commit: copied.at(-1)!, commits: copies.length, copies }
}

async function countNew(git: Git, { onto, tip }: Integration): Promise<number> {
  return Number(await git('rev-list', '--count', tip, `^${onto}`))
}

async function merge(tree: IntegrationTree, request: Integration): Promise<Integrated> {
  const { tip, branch } = request
  const options = ['--quiet', '--no-ff', '--no-verify-signatures', '-m', `Merge branch '${branch}'`]
  const conflict = await attempt(tree, request, ['merge', ...options, tip])
  if (conflict !== undefined) return conflict
  const commit = (await tree.git('rev-parse', 'HEAD')).trim()
  return { kind: 'ready', commit, commits: await countNew(tree.git, request), copies: [] }
}

/** Undefined on success. Errors other than conflicts are thrown. */
async function attempt(
  { git }: IntegrationTree,
  { onto, tip }: Integration,
  command: readonly string[],
): Promise<Conflict | undefined> {
  try {
    await git('-c', 'commit.gpgSign=false', '-c', 'rerere.enabled=false', ...command)
    return undefined
  } catch (error) {
    if (error instanceof StopError || error instanceof UserError) throw error
    const files = split(await git('diff', '--name-only', '--diff-filter=U', '-z'), '\0')
    if (files.length === 0) throw error
    const range = [`-n${MOST_OTHERS}`, '--format=%h %an: %s', onto, `^${tip}`]
    const some = files.slice(0, MOST_PATHS)
    const others = split(await git('--literal-pathspecs', 'log', ...range, '--', ...some), '\n')
    return { kind: 'conflict', files, others }
  }
}

function split(text: string, by: string): string[] {
  return text.split(by).filter((each) => each !== '')
}
