import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { SAFE_GIT, WITHOUT_FETCHING } from '../../base/git.ts'
import { printable } from '../../base/terminal/printable.ts'
import { ok, problem, warning, type Check, type Place } from './check.ts'
import { checkBranch, checkWorktrees, findLock, type GitFolders } from './git-folder.ts'
import { ask, findProgram } from './program.ts'

const LIMIT_MS = 10_000
/** One record a change, and no git of its own in each submodule. */
const CALM = ['--no-renames', '--ignore-submodules=all']
const HEAD = '# branch.head '

/** The checks, and where git keeps the repository, if there is one. */
export interface GitReport {
  readonly checks: Check[]
  readonly folders?: GitFolders
}

/** Agents commit what they do: is there a repository, is it clean, and would a commit succeed? */
export async function checkGit(place: Place): Promise<GitReport> {
  const found = findProgram('git', place)
  if (found.kind !== 'program') {
    const text =
      found.kind === 'missing'
        ? 'is not on PATH'
        : `${printable(found.path)} was not used: its path is not absolute`
    return { checks: [problem('git', text, 'Install git: agents commit their work with it.')] }
  }
  const git = await openGit(found.path, place)
  const [status, places, commits] = await Promise.all([
    git(['status', '--porcelain=v2', '--branch', '--no-ahead-behind', '-z', ...CALM]),
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
  const folders = readFolders(places?.stdout ?? '', place.cwd)
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

/** Both as the file system calls them, so that they can be compared. */
function readFolders(output: string, cwd: string): GitFolders | undefined {
  const [own = '', common = ''] = output.split('\n')
  try {
    return { own: realpathSync(own), common: realpathSync(resolve(cwd, common)) }
  } catch {
    return undefined
  }
}

type Git = (args: readonly string[]) => ReturnType<typeof ask>

/** Git as a reader that starts nothing which the repository's configuration names. */
async function openGit(path: string, { cwd, env }: Place): Promise<Git> {
  const quiet = { LC_ALL: 'C', GIT_OPTIONAL_LOCKS: '0', GIT_TERMINAL_PROMPT: '0' }
  const bare = { ...env, ...quiet, ...WITHOUT_FETCHING }
  const run = (args: readonly string[], more: Readonly<Record<string, string>>) =>
    ask([path, ...SAFE_GIT, ...args], { cwd, env: { ...bare, ...more }, limitMs: LIMIT_MS })
  const filters = await run(
    ['config', '-z', '--name-only', '--get-regexp', String.raw`^filter\.`],
    {},
  )
  // Comparing a file may run the filter of its attributes; as environment, because a name may hold `=`.
  const off = (filters?.stdout ?? '').split('\0').filter((name) => name !== '')
  const settings = off.map((name) => [name, name.endsWith('.required') ? 'false' : ''])
  const overrides = Object.fromEntries(
    settings.flatMap(([name = '', value = ''], index) => [
      [`GIT_CONFIG_KEY_${index}`, name],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  )
  return (args) => run(args, { ...overrides, GIT_CONFIG_COUNT: String(settings.length) })
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
    : ok('git', 'a clean repository')
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
  return warning(
    'commits',
    text,
    'Use a key without a passphrase, or: git config commit.gpgsign false',
  )
}
