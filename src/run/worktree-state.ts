import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** What git keeps in the middle of something, in the folder that it has for a worktree. */
const UNDER_WAY = [
  'MERGE_HEAD',
  'CHERRY_PICK_HEAD',
  'REVERT_HEAD',
  'BISECT_LOG',
  'BISECT_START',
  'rebase-merge',
  'rebase-apply',
  'sequencer',
  // Of submodules that were filled in there.
  'modules',
]

/** Asks git about one worktree. */
export type AskGit = (...args: string[]) => Promise<string>

export interface Place {
  readonly path: string
  readonly branch: string
  readonly base: string
  /** Where git keeps what belongs to it alone. */
  readonly gitDir: string
}

/** More names of commits than fit into a command line are not judged. */
const MOST_COMMITS = 10_000

/** Whether there is anything in its folder that no commit has. */
export async function hasUncommitted(
  { path, branch, gitDir }: Place,
  ask: AskGit,
): Promise<boolean> {
  if (UNDER_WAY.some((name) => existsSync(join(gitDir, name)))) return true
  if (await hasRepositories(path, ask)) return true
  const looks = ['--untracked-files=all', '--ignored=matching', '--ignore-submodules=dirty']
  if ((await ask('status', '--porcelain', ...looks)) !== '') return true
  if (await hasOverlooked(path, ask)) return true
  const stashes = (await ask('stash', 'list', '--format=%gs')).split('\n')
  return stashes.some(
    (stash) => stash.startsWith(`WIP on ${branch}:`) || stash.startsWith(`On ${branch}:`),
  )
}

/** Submodules that were filled in there: only they themselves know what is in them. */
async function hasRepositories(path: string, ask: AskGit): Promise<boolean> {
  const links = (await ask('ls-files', '-z', '--stage')).split('\0')
  return links.some(
    (line) =>
      line.startsWith('160000 ') &&
      existsSync(join(path, line.slice(line.indexOf('\t') + 1), '.git')),
  )
}

/** Files about whose changes git was told to say nothing. */
async function hasOverlooked(path: string, ask: AskGit): Promise<boolean> {
  const files = (await ask('ls-files', '-v', '-z')).split('\0')
  return files.some((line) => {
    const [mark = ''] = line
    if (mark === 'S') return existsSync(join(path, line.slice(2)))
    return mark >= 'a' && mark <= 'z'
  })
}

/** Commits that were made in it, and who has them. */
export interface Commits {
  /** Whether its branch has some that no other branch and no tag has. */
  readonly isOnBranch: boolean
  /** Those at the top of what no branch has: on a detached HEAD, or left behind. */
  readonly loose: readonly string[]
  /** Another branch that has them, where nothing is only here. */
  readonly elsewhere?: string
}

const NONE: Commits = { isOnBranch: false, loose: [] }

export async function commitsOf({ branch, base, gitDir }: Place, ask: AskGit): Promise<Commits> {
  const own = (await ask('for-each-ref', '--format=%(objectname)', `refs/heads/${branch}`)).trim()
  // Where nothing is left of it, another one's would be asked for.
  const passed = existsSync(gitDir) ? await passedIn(ask) : ''
  const tips = [...new Set(`${own}\n${passed}`.split('\n'))]
  const commits = tips.filter((tip) => tip !== '' && tip !== base)
  if (commits.length === 0) return NONE
  if (commits.length > MOST_COMMITS) throw new Error('more commits than can be judged')
  const others = ['--not', base, `--exclude=${branch}`, '--branches', '--tags']
  const isOnBranch = own !== '' && (await ask('rev-list', '-n1', own, ...others)) !== ''
  const loose = await looseOf(commits, base, ask)
  if (isOnBranch || loose.length > 0) return { isOnBranch, loose }
  const made = (await ask('rev-list', '-n1', ...commits, '--not', base)).trim()
  if (made === '') return NONE
  const holders = await ask(
    'for-each-ref',
    '--format=%(refname:short)',
    `--contains=${made}`,
    'refs/heads',
  )
  const elsewhere = holders.split('\n').find((name) => name !== '' && name !== branch)
  return { ...NONE, ...(elsewhere === undefined ? {} : { elsewhere }) }
}

/** More are not compared with each other. */
const MOST_LOOSE = 100

/** Of these commits those that no branch and no tag leads to, without what others of them lead to. */
async function looseOf(commits: readonly string[], base: string, ask: AskGit): Promise<string[]> {
  const all = ['--not', base, '--branches', '--tags']
  const found = new Set((await ask('rev-list', ...commits, ...all)).split('\n'))
  const loose = commits.filter((commit) => found.has(commit))
  if (loose.length <= 1 || loose.length > MOST_LOOSE) return loose
  return (await ask('merge-base', '--independent', ...loose)).trim().split('\n')
}

/** The commits that were ever checked out in it. */
async function passedIn(ask: AskGit): Promise<string> {
  const head = await ask('rev-parse', '--verify', 'HEAD')
  return `${head}\n${await ask('reflog', 'show', '--format=%H', 'HEAD')}`
}
