import { chmodSync, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { findOperation } from '../../base/git-operations.ts'
import { lstatOf } from '../../base/files.ts'
import { readOrEmpty } from '../../base/repository.ts'

/** Whether a merge, rebase or similar operation is in progress in a worktree, or submodules were checked out there. */
function isUnfinished(gitDir: string): boolean {
  const others = ['BISECT_START', 'modules'].map((name) => join(gitDir, name))
  return findOperation(gitDir) !== undefined || others.some((path) => existsSync(path))
}

/** Runs git in one worktree. */
export type AskGit = (...args: string[]) => Promise<string>

export interface WorktreeLocation {
  readonly path: string
  readonly branch: string
  readonly base: string
  readonly gitDir: string
}

/** More commit ids would not fit into a command line. */
const MOST_COMMITS = 10_000

/** Makes git use an index without file times, so that it reads every file. */
export function freshIndex({ gitDir }: WorktreeLocation): Record<string, string> {
  return { GIT_INDEX_FILE: join(gitDir, 'forkhestra-index') }
}

/** Whether the worktree has uncommitted changes, including stashes; `askFresh` uses the fresh index. */
export async function hasUncommitted(
  { path, branch, gitDir }: WorktreeLocation,
  ask: AskGit,
  askFresh: AskGit,
): Promise<boolean> {
  if (isUnfinished(gitDir)) return true
  if (await hasSubmodules(path, ask)) return true
  if ((await ask(...statusOf(path))) !== '') return true
  if (await hasHiddenChanges(path, ask, askFresh)) return true
  const stashes = (await ask('stash', 'list', '--format=%gs')).split('\n')
  return stashes.some(
    (stash) => stash.startsWith(`WIP on ${branch}:`) || stash.startsWith(`On ${branch}:`),
  )
}

function statusOf(path: string): string[] {
  const options = ['--untracked-files=all', '--ignored=matching', '--ignore-submodules=dirty']
  const modes = keepsModes(join(path, '.git')) ? ['-c', 'core.fileMode=true'] : []
  return [...modes, 'status', '--porcelain', '-z', ...options]
}

/** Whether the file system stores executable bits, tested as `git init` does. */
function keepsModes(file: string): boolean {
  const stats = lstatOf(file)
  if (stats?.isFile() !== true) return true
  chmodSync(file, stats.mode ^ 0o100)
  const isKept = lstatOf(file)?.mode !== stats.mode
  chmodSync(file, stats.mode)
  return isKept
}

/** Checked-out submodules count as uncommitted, because their content is not inspected. */
async function hasSubmodules(path: string, ask: AskGit): Promise<boolean> {
  const links = (await ask('ls-files', '-z', '--stage')).split('\0')
  return links.some(
    (line) =>
      line.startsWith('160000 ') &&
      existsSync(join(path, line.slice(line.indexOf('\t') + 1), '.git')),
  )
}

/** Changes that the index hides through assume-unchanged, skip-worktree or recorded file times. */
async function hasHiddenChanges(path: string, ask: AskGit, askFresh: AskGit): Promise<boolean> {
  const files = (await ask('ls-files', '-v', '-z')).split('\0')
  const isOutside = (line: string) =>
    line.startsWith('S ') && !existsSync(join(path, line.slice(2)))
  // Files outside a sparse checkout were not deleted.
  const outside = new Set(files.filter(isOutside).map((line) => ` D ${line.slice(2)}`))
  await askFresh('read-tree', 'HEAD')
  const changes = (await askFresh(...statusOf(path))).split('\0')
  return changes.some((change) => change !== '' && !outside.has(change))
}

/** Commits that were made in a worktree, and which branches have them. */
export interface Commits {
  /** Whether its branch has commits that no other branch or tag has. */
  readonly isOnBranch: boolean
  /** Tips of commits on no branch: made on a detached HEAD, or reset away. */
  readonly dangling: readonly string[]
  /** Whether there may be more such commits, because the reflog is incomplete. */
  readonly isUncertain: boolean
  /** Another branch that contains all commits. */
  readonly elsewhere?: string
}

export async function commitsOf(
  { branch, base, gitDir }: WorktreeLocation,
  ask: AskGit,
): Promise<Commits> {
  const own = (await ask('for-each-ref', '--format=%(objectname)', `refs/heads/${branch}`)).trim()
  // Without its git directory, git would answer for another worktree.
  const exists = existsSync(gitDir)
  const passed = exists ? await checkedOutCommits(ask) : ''
  const none = {
    isOnBranch: false,
    dangling: [],
    isUncertain: exists && !isReflogComplete(passed, base, gitDir),
  }
  const kept = exists ? await commitsOfOwnRefs(gitDir, ask) : ''
  const tips = [...new Set(`${own}\n${passed}\n${kept}`.split('\n'))]
  const commits = tips.filter((tip) => tip !== '' && tip !== base)
  if (commits.length === 0) return none
  if (commits.length > MOST_COMMITS) throw new Error('too many commits to inspect')
  const others = ['--not', base, `--exclude=${branch}`, '--branches', '--tags']
  const isOnBranch = own !== '' && (await ask('rev-list', '-n1', own, ...others)) !== ''
  const dangling = await danglingOf(commits, base, ask)
  if (isOnBranch || dangling.length > 0) return { ...none, isOnBranch, dangling }
  const made = (await ask('rev-list', '-n1', ...commits, '--not', base)).trim()
  if (made === '') return none
  const holders = await ask(
    'for-each-ref',
    '--format=%(refname:short)',
    `--contains=${made}`,
    'refs/heads',
  )
  const elsewhere = holders.split('\n').find((name) => name !== '' && name !== branch)
  return { ...none, ...(elsewhere === undefined ? {} : { elsewhere }) }
}

/** With more commits than this, they are not compared with each other. */
const MOST_LOOSE = 100

/** Those of the commits that no branch or tag reaches, without ancestors of each other. */
async function danglingOf(
  commits: readonly string[],
  base: string,
  ask: AskGit,
): Promise<string[]> {
  const all = ['--not', base, '--branches', '--tags']
  const found = new Set((await ask('rev-list', ...commits, ...all)).split('\n'))
  const dangling = commits.filter((commit) => found.has(commit))
  if (dangling.length <= 1 || dangling.length > MOST_LOOSE) return dangling
  return (await ask('merge-base', '--independent', ...dangling)).trim().split('\n')
}

/** Every commit that was ever checked out in the worktree, oldest last. */
async function checkedOutCommits(ask: AskGit): Promise<string> {
  const head = await ask('rev-parse', '--verify', 'HEAD')
  return `${head}\n${await ask('reflog', 'show', '--format=%H', 'HEAD')}`.trim()
}

/** Whether the reflog of HEAD starts with the first commit and has no gaps. */
function isReflogComplete(passed: string, base: string, gitDir: string): boolean {
  const log = readOrEmpty(join(gitDir, 'logs/HEAD'))
  // With the reftable format there is no such file.
  if (log === '') return existsSync(join(gitDir, 'reftable')) && passed.endsWith(`\n${base}`)
  const moves = log.trimEnd().split('\n')
  const [from, to] = [(move = '') => move.split(' ')[0], (move = '') => move.split(' ')[1]]
  return (
    to(moves[0]) === base && moves.every((move, at) => at === 0 || from(move) === to(moves[at - 1]))
  )
}

/** FETCH_HEAD can be fetched again, and AUTO_MERGE is not a commit. */
const IGNORED_REFS = ['HEAD', 'FETCH_HEAD', 'AUTO_MERGE']

/** Commits that per-worktree refs such as ORIG_HEAD point to. */
async function commitsOfOwnRefs(gitDir: string, ask: AskGit): Promise<string> {
  const names = readdirSync(gitDir).filter((name) => /^[A-Z_]+$/.test(name))
  const pseudo = names
    .filter((name) => !IGNORED_REFS.includes(name))
    .map((name) => readOrEmpty(join(gitDir, name)).trim())
    .filter((text) => /^[0-9a-f]{40,64}$/.test(text))
  const folders = ['refs/worktree', 'refs/bisect', 'refs/rewritten']
  const refs = await ask('for-each-ref', '--format=%(objectname)', ...folders)
  return `${pseudo.join('\n')}\n${refs}`
}
