import { existsSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { awakeMs } from '../../base/awake.ts'
import { askGit, withOwnFilters, type GitOptions } from './git-command.ts'
import { hash, Fingerprinter } from './git-print.ts'
import { parseStatus, type Entry, type Status } from './git-status.ts'

/** The state of a git repository at one moment. */
export interface GitSnapshot {
  /** The commit; undefined before the first one. */
  readonly head: string | undefined
  /** Hash of all that differs from HEAD: paths, kinds and contents. */
  readonly tree: string
  /** Fingerprints of the paths that differ from HEAD. */
  readonly prints: ReadonlyMap<string, string>
}

/** The time limit of a snapshot. */
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
  const filters = await withOwnFilters(options)
  if (filters === undefined) return undefined
  const [said, submodules] = await Promise.all([
    askGit([...filters, ...STATUS], options),
    listSubmodules(options),
  ])
  if (said === undefined) return undefined
  const status = parseStatus(said)
  const isClean = status.entries.length + submodules.length === 0
  const root = isClean ? options.cwd : await findRoot(options)
  if (root === undefined) return undefined
  return makeSnapshot(status, submodules, { ...options, root, printer }, uncounted)
}

/** Paths of submodules, relative to the root. */
async function listSubmodules(options: GitOptions): Promise<Buffer[]> {
  const said = (await askGit(['ls-files', '-z', '--stage', '--full-name', ':/'], options)) ?? ''
  // One character per byte: paths need not be valid UTF-8.
  const lines = said.toString('latin1').split('\0')
  return lines.flatMap((line) =>
    line.startsWith(GITLINK) ? [Buffer.from(line.slice(line.indexOf('\t') + 1), 'latin1')] : [],
  )
}

const GITLINK = '160000 '

async function makeSnapshot(
  { head, entries }: Status,
  submodules: readonly Buffer[],
  scan: Scan,
  uncounted: readonly string[],
): Promise<GitSnapshot | undefined> {
  const prints = await printAll(entries, scan)
  if (prints === undefined) return undefined
  await printChanged(submodules, prints, scan)
  const folders = uncounted.map((folder) => relative(scan.root, folder) + sep)
  const counted = [...prints].filter(([path]) => !folders.some((folder) => path.startsWith(folder)))
  return {
    head,
    tree: hash(counted.map(([path, print]) => `${path}\0${print}\0`).join('')),
    prints,
  }
}

async function findRoot(options: GitOptions): Promise<string | undefined> {
  const said = await askGit(['rev-parse', '--show-toplevel'], options)
  return said?.toString().replace(/\n$/, '')
}

interface Scan extends GitOptions {
  readonly root: string
  readonly printer: Fingerprinter
}

/** Files that are read before other work gets a turn. */
const BATCH = 100

/** Undefined if the deadline passes first. */
async function printAll(
  entries: readonly Entry[],
  scan: Scan,
): Promise<Map<string, string> | undefined> {
  const { root, printer, deadline } = scan
  const prints = new Map<string, string>()
  for (const [index, { path, isRepository }] of entries.entries()) {
    if (awakeMs() > deadline) return undefined
    if (index % BATCH === BATCH - 1) await new Promise(setImmediate)
    const full = Buffer.concat([Buffer.from(root + sep), path])
    const inside = isRepository ? await printRepository(full.toString(), scan) : undefined
    const print = inside ?? printer.print(full)
    if (print !== undefined) prints.set(path.toString(), print)
  }
  return prints
}

/** Adds submodules with uncommitted changes. */
async function printChanged(
  submodules: readonly Buffer[],
  prints: Map<string, string>,
  scan: Scan,
): Promise<void> {
  for (const path of submodules) {
    const cwd = join(scan.root, path.toString())
    if (prints.has(path.toString()) || !existsSync(join(cwd, '.git'))) continue
    const inner = await takeInside(cwd, scan)
    if (inner !== undefined && inner.prints.size > 0) prints.set(path.toString(), printOf(inner))
  }
}

/** The fingerprint of a nested repository, which is a single path in the outer one. */
async function printRepository(cwd: string, scan: Scan): Promise<string | undefined> {
  const inner = await takeInside(cwd, scan)
  return inner && printOf(inner)
}

function printOf({ head, tree }: GitSnapshot): string {
  return `repository ${head} ${tree}`
}

async function takeInside(cwd: string, scan: Scan): Promise<GitSnapshot | undefined> {
  const { GIT_DIR: _, GIT_WORK_TREE: __, GIT_INDEX_FILE: ___, ...rest } = scan.env
  // For a broken nested repository git must not fall back to the outer one.
  const env = { ...rest, GIT_CEILING_DIRECTORIES: scan.root }
  return takeBefore({ cwd, env, deadline: scan.deadline }, scan.printer, [])
}

/** What changed between two snapshots. */
interface Changes {
  /** The later commit, if it is another one. */
  head?: string
  commits: number
  /** At most `MOST_CHANGES`. */
  files: string[]
  fileCount: number
}

const MOST_CHANGES = 100

/** What was committed between two snapshots, and which uncommitted files changed. */
export async function changesBetween(
  cwd: string,
  before: GitSnapshot,
  after: GitSnapshot,
  env: Readonly<Record<string, string>>,
): Promise<Changes> {
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
