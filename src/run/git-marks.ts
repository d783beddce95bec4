import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { ALONE, askGit, withoutFilters, type GitOptions } from './git-command.ts'

/** Where a repository keeps what. */
export interface GitPlace {
  readonly root: string
  readonly gitDir: string
  /** Of all its worktrees together. */
  readonly commonDir: string
}

export async function findPlace(options: GitOptions): Promise<GitPlace | undefined> {
  const asked = ['--path-format=absolute', '--show-toplevel', '--git-dir', '--git-common-dir']
  const said = (await askGit(['rev-parse', ...asked], options))?.toString() ?? ''
  const [root = '', gitDir = '', commonDir = '', ...rest] = said.split('\n')
  // A name with a newline in it would be taken for two.
  const isClear = [root, gitDir, commonDir].every(isAbsolute) && rest.join('') === ''
  return isClear ? { root, gitDir, commonDir } : undefined
}

/** How git is asked here, and the files on which that depends. */
export interface Settings {
  readonly noFilters: readonly string[]
  readonly files: readonly string[]
  readonly mark: string
}

export async function readSettings(
  place: GitPlace,
  options: GitOptions,
): Promise<Settings | undefined> {
  const files = await findSettings(place, options)
  if (files === undefined) return undefined
  const mark = markOf(files)
  const noFilters = await withoutFilters(options)
  return noFilters && { noFilters, files, mark }
}

/** The files that say how git looks at a working tree, whether they exist or not. */
async function findSettings(
  { root, gitDir, commonDir }: GitPlace,
  options: GitOptions,
): Promise<string[] | undefined> {
  const said = await askGit(['config', '-z', '--list', '--show-origin'], options)
  if (said === undefined) return undefined
  const fields = said.toString().split('\0')
  const home = options.env['HOME'] ?? '/'
  const user = join(options.env['XDG_CONFIG_HOME'] || join(home, '.config'), 'git')
  const named = fields.flatMap((field) => {
    const [, path] = /^(?:file:|core\.(?:excludes|attributes)file\n)([^]+)$/.exec(field) ?? []
    return path === undefined ? [] : [resolve(root, path.replace(/^~(?=\/)/, home))]
  })
  return [
    ...new Set([
      ...named,
      options.env['GIT_CONFIG_SYSTEM'] ?? '/etc/gitconfig',
      options.env['GIT_CONFIG_GLOBAL'] ?? join(home, '.gitconfig'),
      ...['config', 'ignore', 'attributes'].map((name) => join(user, name)),
      ...['config', 'info/exclude', 'info/attributes'].map((name) => join(commonDir, name)),
      ...['config.worktree', 'info/sparse-checkout'].map((name) => join(gitDir, name)),
    ]),
  ]
}

/** Differs once any of the files was written, made or removed. */
export function markOf(files: readonly string[]): string {
  return files.map(markFile).join('\n')
}

function markFile(path: string): string {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stat === undefined ? '' : `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`
}

const COMMIT = /^([0-9a-f]{40}|[0-9a-f]{64})\n$/

/** The commit of HEAD, without git where it stands in a file of its own. */
export async function readHead(
  { gitDir, commonDir }: GitPlace,
  options: GitOptions,
): Promise<string | undefined> {
  const text = readText(join(gitDir, 'HEAD'))
  const [, branch] = /^ref: (refs\/heads\/.+)\n$/.exec(text) ?? []
  const [, commit] =
    COMMIT.exec(branch === undefined ? text : readText(join(commonDir, branch))) ?? []
  if (commit !== undefined) return commit
  return (await askGit(['rev-parse', '-q', '--verify', 'HEAD'], options))?.toString().trim()
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** Paths at which the index differs from HEAD, or HEAD from what it was. */
export async function listMoved(
  { gitDir }: GitPlace,
  before: string,
  head: string,
  options: GitOptions,
): Promise<string[] | undefined> {
  const names = ['--name-only', '--no-renames', '--ignore-submodules=none', '-z']
  const staged = askGit([...ALONE, 'diff-index', '--cached', ...names, head, '--'], options)
  // It would read all of the index, and need nothing of it.
  const env = { ...options.env, GIT_INDEX_FILE: join(gitDir, 'index.none') }
  const committed =
    before === head
      ? Buffer.alloc(0)
      : askGit(['diff-tree', '-r', ...names, before, head, '--'], { ...options, env })
  const said = await Promise.all([staged, committed])
  if (said.includes(undefined)) return undefined
  return said.flatMap((each) => each!.toString('latin1').split('\0')).filter((path) => path !== '')
}

/** How many files git has in its index: a number in the head of it. */
export function countFiles({ gitDir }: GitPlace): number {
  const head = Buffer.alloc(12)
  try {
    const fd = openSync(join(gitDir, 'index'), 'r')
    try {
      readSync(fd, head, 0, head.length, 0)
    } finally {
      closeSync(fd)
    }
  } catch {
    return 0
  }
  return head.toString('latin1', 0, 4) === 'DIRC' ? head.readUInt32BE(8) : 0
}
