import { basename, dirname, join, resolve } from 'node:path'
import type { Environment } from '../../base/environment.ts'
import { NotNow } from '../../base/errors.ts'
import { listNames, lstatOf } from '../../base/files.ts'
import { withoutGitPlaces, WITHOUT_FETCHING } from '../../base/git.ts'
import type { Git } from '../../run/merge/integrate.ts'
import type { GitIn } from '../../run/merge/move-branch.ts'
import { runGit } from '../../run/process/git.ts'
import { ownFilters } from '../../run/process/own-filters.ts'
import { adminFolders } from '../../run/worktrees/worktree-plan.ts'

/** A worktree that git knows. */
export interface Tree {
  readonly path: string
  readonly gitDir: string
  /** The checked-out commit; undefined if git cannot tell. */
  readonly head: string | undefined
  /** Undefined if HEAD is detached. */
  readonly branch: string | undefined
  /** Why git must not remove it. */
  readonly locked: string | undefined
  readonly isMain: boolean
  readonly isThere: boolean
}

export interface Repository {
  /** The git folder that all worktrees share. */
  readonly common: string
  /** The root of the current working tree. */
  readonly top: string | undefined
  readonly trees: readonly Tree[]
  /** The commits of all branches, by name. */
  readonly branches: ReadonlyMap<string, string>
  /** Folders next to the worktrees that runs made, and that git does not know. */
  readonly strangers: readonly string[]
}

const LIMIT_MS = 60_000

/** Runs git, with further variables if necessary. */
export interface GitWith {
  readonly in: GitIn
  readonly with: (more: Environment, cwd: string, ...args: string[]) => Promise<string>
}

export function makeGit(env: Environment, filters: readonly string[] = []): GitWith {
  const quiet = { ...withoutGitPlaces(env), ...WITHOUT_FETCHING, GIT_OPTIONAL_LOCKS: '0' }
  const run: GitWith['with'] = async (more, cwd, ...args) => {
    const all = Object.entries({ ...quiet, ...more }).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    )
    const options = ['-c', 'core.quotePath=false', ...filters, ...args]
    return (await runGit(cwd, options, Object.fromEntries(all), { ms: LIMIT_MS })).toString()
  }
  return { in: (cwd, ...args) => run({}, cwd, ...args), with: run }
}

/** Git that starts no filters of the repository, also not those that its worktrees configure. */
export async function withoutFilters(
  env: Environment,
  folder: string,
  { trees }: Repository,
): Promise<GitWith> {
  const git = makeGit(env)
  const filters: string[] = []
  for (const { gitDir } of trees.filter((tree) => tree.gitDir !== '')) {
    const found = await ownFilters((args) =>
      git.in(folder, `--git-dir=${gitDir}`, ...args).catch(() => ''),
    )
    if (found === undefined) {
      throw new NotNow(
        `The name of a filter in the git configuration of ${folder} contains '='.`,
        'Rename it: git config --get-regexp ^filter',
      )
    }
    filters.push(...found)
  }
  return makeGit(env, filters)
}

/** Git in one worktree; it is told where that is, because an agent may have deleted `.git`. */
export function gitOfTree(gitIn: GitIn, { path, gitDir }: Pick<Tree, 'path' | 'gitDir'>): Git {
  return (...args) => gitIn(path, `--git-dir=${gitDir}`, `--work-tree=${path}`, ...args)
}

export async function readRepository(cwd: string, gitIn: GitIn): Promise<Repository> {
  const found = await gitIn(cwd, 'rev-parse', '--git-common-dir')
  const common = resolve(cwd, found.replace(/\n$/, ''))
  const gitDirs = adminFolders(common)
  const blocks = (await gitIn(cwd, 'worktree', 'list', '--porcelain', '-z')).split('\0\0')
  const trees = blocks
    .filter((block) => block !== '')
    .map((block, index) => readTree(block, index === 0, common, gitDirs))
  const refs = await gitIn(
    cwd,
    'for-each-ref',
    '--format=%(objectname) %(refname:lstrip=2)',
    'refs/heads',
  )
  const lines = refs.split('\n').filter((line) => line !== '')
  const branches = new Map(
    lines.map((line) => {
      const space = line.indexOf(' ')
      return [line.slice(space + 1), line.slice(0, space)] as const
    }),
  )
  // A bare repository has none.
  const top = await gitIn(cwd, 'rev-parse', '--show-toplevel').then(
    (path) => path.replace(/\n$/, ''),
    () => undefined,
  )
  return { common, top, trees, branches, strangers: findStrangers(trees, top) }
}

function readTree(
  block: string,
  isMain: boolean,
  common: string,
  gitDirs: ReadonlyMap<string, string>,
): Tree {
  const fields = block.split('\0')
  const valueOf = (name: string) =>
    fields.find((field) => field === name || field.startsWith(`${name} `))?.slice(name.length + 1)
  const path = valueOf('worktree') ?? ''
  const head = valueOf('HEAD')
  return {
    path,
    gitDir: isMain ? common : (gitDirs.get(path) ?? ''),
    head: head === undefined || /^0+$/.test(head) ? undefined : head,
    branch: valueOf('branch')?.replace(/^refs\/heads\//, ''),
    locked: valueOf('locked'),
    isMain,
    isThere: lstatOf(path)?.isDirectory() === true,
  }
}

const FOLDERS = '.worktrees'
/** For the names of worktrees and, after the common prefix, of branches. */
const RUN = /^\d{8}-\d{6}-[0-9a-z]+(?=[-./])/

/** The run that made a worktree at this path; undefined if none did. */
export function runOfPath(path: string): string | undefined {
  return dirname(path).endsWith(FOLDERS) ? RUN.exec(basename(path))?.[0] : undefined
}

const PREFIX = 'forkhestra/'

/** The run that made a branch, and what follows its id in the name; undefined if none did. */
export function runOfBranch(
  name: string,
): { readonly run: string; readonly rest: string } | undefined {
  const own = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : ''
  const run = RUN.exec(own)?.[0]
  return run === undefined ? undefined : { run, rest: own.slice(run.length) }
}

function findStrangers(trees: readonly Tree[], top = ''): string[] {
  const known = new Set(trees.map(({ path }) => path))
  const folders = new Set(
    [{ path: top }, ...trees].flatMap(({ path }) => [
      `${path}${FOLDERS}`,
      ...(runOfPath(path) === undefined ? [] : [dirname(path)]),
    ]),
  )
  return [...folders]
    .flatMap((folder) => listNames(folder).map((name) => join(folder, name)))
    .filter((path) => runOfPath(path) !== undefined && !known.has(path))
}
