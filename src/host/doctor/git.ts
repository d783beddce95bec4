import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { counted } from '../../base/amounts.ts'
import { formatDuration } from '../../base/durations.ts'
import { listNames, readTextFile, realPathOf, statOf } from '../../base/files.ts'
import { SAFE_GIT, WITHOUT_FETCHING } from '../../base/git.ts'
import { printable } from '../../base/terminal/printable.ts'
import { findOperation } from '../../base/git-operations.ts'
import { ok, problem, warning, type Check, type CheckContext } from './check.ts'
import { runBriefly, findProgram } from './program.ts'

const LIMIT_MS = 10_000
/** One record per change, without starting git for each submodule. */
const STATUS_OPTIONS = ['--no-renames', '--ignore-submodules=all']
const HEAD = '# branch.head '

/** Where git keeps a repository; in a worktree these are two places. */
export interface GitFolders {
  /** For this working tree only. */
  readonly own: string
  /** Shared by all its worktrees. */
  readonly common: string
}

/** Whether there is a clean repository in which a commit would succeed, and where git keeps it. */
export async function checkGit(
  context: CheckContext,
): Promise<{ readonly checks: Check[]; readonly folders?: GitFolders }> {
  const found = findProgram('git', context)
  if (found.kind !== 'program') {
    const text =
      found.kind === 'missing'
        ? 'not found on PATH'
        : `${printable(found.path)} was not used: its path is not absolute`
    return { checks: [problem('git', text, 'Install git: agents commit their work with it.')] }
  }
  const git = await openGit(found.path, context)
  const [status, places, commits] = await Promise.all([
    git(['status', '--porcelain=v2', '--branch', '--no-ahead-behind', '-z', ...STATUS_OPTIONS]),
    git(['rev-parse', '--absolute-git-dir', '--git-common-dir']),
    checkCommits(git),
  ])
  if (status === undefined) {
    const text = `git status took more than ${LIMIT_MS / 1000} s`
    return { checks: [warning('git', text, 'Run it yourself.')] }
  }
  if (status.code !== 0) return { checks: [withoutRepository(status.stderr)] }
  const records = status.stdout.split('\0').filter((record) => record !== '')
  const head = records.find((record) => record.startsWith(HEAD))?.slice(HEAD.length) ?? ''
  const folders = readFolders(places?.stdout ?? '', context.cwd)
  if (folders === undefined) return { checks: [describeStatus(records), commits] }
  return {
    checks: [
      describeStatus(records),
      checkBranch(head, folders),
      findLock(folders, Date.now()) ?? commits,
      ...checkWorktrees(folders),
    ],
    folders,
  }
}

/** Real paths, so that they can be compared. */
function readFolders(output: string, cwd: string): GitFolders | undefined {
  const [own, common] = output.split('\n').map((path) => realPathOf(resolve(cwd, path)))
  return own === undefined || common === undefined ? undefined : { own, common }
}

type Git = (args: readonly string[]) => ReturnType<typeof runBriefly>

/** A git that only reads, and starts no program named by the configuration of the repository. */
async function openGit(path: string, { cwd, env }: CheckContext): Promise<Git> {
  const quiet = { LC_ALL: 'C', GIT_OPTIONAL_LOCKS: '0', GIT_TERMINAL_PROMPT: '0' }
  const bare = { ...env, ...quiet, ...WITHOUT_FETCHING }
  const run = (args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
    runBriefly([path, ...SAFE_GIT, ...args], { cwd, env: { ...bare, ...more }, limitMs: LIMIT_MS })
  const filters = await run(['config', '-z', '--name-only', '--get-regexp', String.raw`^filter\.`])
  // Comparing a file may run a filter. Disabled through variables, because a name may contain `=`.
  const names = (filters?.stdout ?? '').split('\0').filter((name) => name !== '')
  const off = names.flatMap((name, index) => [
    [`GIT_CONFIG_KEY_${index}`, name],
    [`GIT_CONFIG_VALUE_${index}`, name.endsWith('.required') ? 'false' : ''],
  ])
  const settings = Object.fromEntries([['GIT_CONFIG_COUNT', String(names.length)], ...off])
  return (args) => run(args, settings)
}

function withoutRepository(stderr: string): Check {
  if (stderr.includes('not a git repository')) {
    return warning('git', 'not a git repository: agents cannot commit their work', 'Run: git init')
  }
  const line = printable(stderr.trim().split('\n', 1)[0] ?? '')
  return problem('git', `git status fails: ${line}`, 'Run git status and follow its advice.')
}

function describeStatus(records: readonly string[]): Check {
  const count = records.filter((record) => !record.startsWith('# ')).length
  if (count > 0) {
    const what = count === 1 ? '1 change is' : `${count} changes are`
    const text = `${what} uncommitted and may end up in an agent's commit`
    return warning('git', text, 'Commit first.')
  }
  return records.includes('# branch.oid (initial)')
    ? warning('git', 'the repository has no commits yet', 'Commit first.')
    : ok('git', 'clean')
}

async function checkCommits(git: Git): Promise<Check> {
  const [signing, ...idents] = await Promise.all([
    git(['config', '--type=bool', '--get', 'commit.gpgsign']),
    git(['var', 'GIT_AUTHOR_IDENT']),
    git(['var', 'GIT_COMMITTER_IDENT']),
  ])
  if (idents.some((answer) => answer?.code !== 0)) {
    const text = 'git user.name and user.email are not set; commits will fail'
    const next = 'Run: git config user.name NAME && git config user.email ADDRESS'
    return problem('commits', text, next)
  }
  if (signing?.stdout.trim() !== 'true')
    return ok('commits', 'git user.name and user.email are set')
  const text = 'commits are signed and fail if the key asks for a passphrase'
  const next = 'Use a key without a passphrase, or: git config commit.gpgsign false'
  return warning('commits', text, next)
}

const LIMIT_BYTES = 64 * 1024

/** Branches that others build on. */
const SHARED = ['main', 'master', 'trunk', 'develop']

/** An unfinished operation that agents' commits would become part of. */
function checkBranch(head: string, { own, common }: GitFolders): Check {
  const operation = findOperation(own)
  if (operation !== undefined) {
    const text = `${operation.what} is in progress; agents' commits would become part of it`
    return problem('branch', text, operation.next)
  }
  const next = 'Run: git switch -c NAME'
  if (head === '(detached)')
    return warning('branch', "detached HEAD: agents' commits would not be on any branch", next)
  const name = printable(head)
  return SHARED.includes(head) || head === defaultBranch(common)
    ? warning('branch', `you are on ${name}; agents will commit straight to it`, next)
    : ok('branch', name)
}

function defaultBranch(common: string): string | undefined {
  const text = readIfThere(join(common, 'refs/remotes/origin/HEAD'))
  return /^ref: refs\/remotes\/origin\/(.+)$/m.exec(text ?? '')?.[1]
}

/** A lock left by a killed git, which makes every other git refuse to commit. */
function findLock({ own }: GitFolders, now: number): Check | undefined {
  for (const name of ['index.lock', 'HEAD.lock']) {
    const path = join(own, name)
    const since = statOf(path)?.mtimeMs
    if (since === undefined) continue
    const age = formatDuration(Math.max(0, now - since))
    const text = `git refuses commits while ${printable(path)} exists (${age} old)`
    return problem('commits', text, 'If no git command is running here, it is stale: remove it.')
  }
  return undefined
}

/** The other worktrees of the repository, if there are any. */
function checkWorktrees({ own, common }: GitFolders): Check[] {
  const folder = join(common, 'worktrees')
  const names = listNames(folder)
  if (names.length === 0) return []
  const gone = names.filter((name) => isGone(join(folder, name)))
  if (gone.length > 0) {
    const text = `${gone.map(printable).join(', ')}: the folder is gone, but its branch is still checked out there`
    return [warning('worktrees', text, 'Run: git worktree prune')]
  }
  const where = own === common ? '' : '; this is one of them'
  return [ok('worktrees', `${counted(names.length, 'worktree')} besides the main one${where}`)]
}

function isGone(record: string): boolean {
  const path = readIfThere(join(record, 'gitdir'))?.trim()
  if (path === undefined || !path.startsWith('/')) return false
  return !existsSync(path) && !existsSync(join(record, 'locked'))
}

function readIfThere(path: string): string | undefined {
  const file = readTextFile(path, LIMIT_BYTES)
  return file.kind === 'text' ? file.text : undefined
}
