import { existsSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { awakeMs } from '../../base/awake.ts'
import { withoutGitPlaces, WITHOUT_FETCHING } from '../../base/git.ts'
import type { GitChanges } from '../../records/events/schema.ts'
import { hash, Fingerprinter } from './git-print.ts'
import { parseGitStatus } from './git-status.ts'
import { runGit } from '../process/git.ts'
import { ownFilters } from '../process/own-filters.ts'

/** The state of a git repository at one moment. */
export interface GitSnapshot {
  /** The commit; undefined before the first one. */
  readonly head: string | undefined
  /** Hash of everything that differs from HEAD: paths, kinds and contents. */
  readonly tree: string
  /** Fingerprints of the paths that differ from HEAD. */
  readonly prints: ReadonlyMap<string, string>
}

const LIMIT_MS = 5000

/**
 * Takes a snapshot of the repository that contains a folder; undefined if there is none, or if git
 * does not answer in time. Files in `uncounted` folders are listed, but not part of the hash.
 */
export async function takeSnapshot(
  cwd: string,
  env: Readonly<Record<string, string>>,
  uncounted: readonly string[] = [],
): Promise<GitSnapshot | undefined> {
  const deadline = awakeMs() + LIMIT_MS
  const snapshot = await takeBefore({ cwd, env, deadline }, new Fingerprinter(), uncounted)
  return awakeMs() < deadline ? snapshot : undefined
}

const STATUS = [
  'status',
  '--porcelain=v2',
  '--branch',
  '-z',
  '--untracked-files=all',
  // Git would apply the filters of the submodules; we examine submodules ourselves.
  '--ignore-submodules=dirty',
  '--no-renames',
  '--no-ahead-behind',
]

async function takeBefore(
  options: GitOptions,
  printer: Fingerprinter,
  uncounted: readonly string[],
): Promise<GitSnapshot | undefined> {
  const ask = async (args: readonly string[]) => (await askGit(args, options))?.toString() ?? ''
  const filters = await ownFilters(ask)
  if (filters === undefined) return undefined
  const [status, top, submodules] = await Promise.all([
    askGit([...filters, ...STATUS], options),
    askGit(['rev-parse', '--show-toplevel'], options),
    listSubmodules(options),
  ])
  if (status === undefined || top === undefined) return undefined
  const root = top.toString().replace(/\n$/, '')
  const { head, entries } = parseGitStatus(status)
  const prints = new Map<string, string>()
  for (const [index, { path, isRepository }] of entries.entries()) {
    if (awakeMs() > options.deadline) return undefined
    if (index % BATCH === BATCH - 1) await new Promise(setImmediate)
    const full = Buffer.concat([Buffer.from(root + sep), path])
    const inner = isRepository ? await takeInside(full.toString()) : undefined
    const print = inner === undefined ? printer.print(full) : printOf(inner)
    if (print !== undefined) prints.set(path.toString(), print)
  }
  for (const path of submodules) {
    const cwd = join(root, path)
    if (prints.has(path) || !existsSync(join(cwd, '.git'))) continue
    const inner = await takeInside(cwd)
    if (inner !== undefined && inner.prints.size > 0) prints.set(path, printOf(inner))
  }
  const folders = uncounted.map((folder) => relative(root, folder) + sep)
  const counted = [...prints].filter(([path]) => !folders.some((folder) => path.startsWith(folder)))
  const tree = hash(counted.map(([path, print]) => `${path}\0${print}\0`).join(''))
  return { head, tree, prints }

  /** Takes a snapshot of a nested repository, which is a single path in the outer one. */
  function takeInside(cwd: string): Promise<GitSnapshot | undefined> {
    // For a broken nested repository git must not fall back to the outer one.
    const env = { ...withoutGitPlaces(options.env), GIT_CEILING_DIRECTORIES: root }
    return takeBefore({ ...options, cwd, env }, printer, [])
  }
}

/** Files that are read before other work gets a turn. */
const BATCH = 100

function printOf({ head, tree }: GitSnapshot): string {
  return `repository ${head} ${tree}`
}

/** Paths of submodules, relative to the root. */
async function listSubmodules(options: GitOptions): Promise<string[]> {
  const said = await askGit(['ls-files', '-z', '--stage', '--full-name', ':/'], options)
  const links = (said?.toString() ?? '').split('\0').filter((line) => line.startsWith('160000 '))
  return links.map((line) => line.slice(line.indexOf('\t') + 1))
}

const MOST_CHANGES = 100

/** What was committed between two snapshots, and which uncommitted files changed. */
export async function changesBetween(
  cwd: string,
  before: GitSnapshot,
  after: GitSnapshot,
  env: Readonly<Record<string, string>>,
): Promise<GitChanges> {
  const options = { cwd, env, deadline: awakeMs() + LIMIT_MS }
  const paths = new Set([...before.prints.keys(), ...after.prints.keys()])
  const edited = [...paths].filter((path) => before.prints.get(path) !== after.prints.get(path))
  const [commits, committed] = await Promise.all([
    countCommits(before.head, after.head, options),
    listCommitted(before.head, after.head, options),
  ])
  const files = [...new Set([...committed, ...edited])].toSorted()
  return {
    ...(after.head === undefined || after.head === before.head ? {} : { head: after.head }),
    commits,
    files: files.slice(0, MOST_CHANGES),
    fileCount: files.length,
  }
}

type Head = GitSnapshot['head']

async function countCommits(before: Head, after: Head, options: GitOptions): Promise<number> {
  if (after === undefined || after === before) return 0
  const known = before === undefined ? [] : [`^${before}`]
  const said = await askGit(['rev-list', '--count', after, ...known, '--'], options)
  return Number(said?.toString() ?? 0)
}

async function listCommitted(before: Head, after: Head, options: GitOptions): Promise<string[]> {
  if (before === after) return []
  const asked =
    before === undefined || after === undefined
      ? ['ls-tree', '-r', '--full-tree', '--name-only', '-z', (before ?? after)!]
      : ['diff-tree', '-r', '--name-only', '--no-renames', '-z', before, after, '--']
  const said = (await askGit(asked, options))?.toString() ?? ''
  return said.split('\0').filter((path) => path !== '')
}

interface GitOptions {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** By `awakeMs()`; a command that takes longer is killed. */
  readonly deadline: number
}

/** The output of a read-only git command; undefined if it fails, takes too long, or git is missing. */
async function askGit(
  args: readonly string[],
  { cwd, env, deadline }: GitOptions,
): Promise<Buffer | undefined> {
  const ms = deadline - awakeMs()
  if (ms <= 0) return undefined
  try {
    // Agents work in the same repository, so the index must not be locked.
    const readOnly = ['--no-optional-locks', ...args]
    return await runGit(cwd, readOnly, { ...env, ...WITHOUT_FETCHING }, { ms, termMs: 0 })
  } catch {
    return undefined
  }
}
