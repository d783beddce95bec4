import { existsSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { awakeMs } from '../base/awake.ts'
import { askGit, withOwnFilters, type GitOptions } from './git-command.ts'
import { hash, Printer } from './git-print.ts'
import { parseStatus, type Entry, type Status } from './git-status.ts'

/** What a git repository looks like at one moment. */
export interface Look {
  /** The commit; undefined before the first one. */
  readonly head: string | undefined
  /** Hash of all that differs from HEAD: paths, kinds and contents. */
  readonly tree: string
  /** By path, what each of them is now. */
  readonly prints: ReadonlyMap<string, string>
}

/** A repository in which it takes longer is not looked at. */
const PATIENCE_MS = 5000

/**
 * Looks at the repository around a folder; undefined outside of one, or where git cannot be asked.
 * What lies in `uncounted` folders is among the files, but not in the hash.
 */
export async function lookAtGit(
  cwd: string,
  env: Readonly<Record<string, string>>,
  uncounted: readonly string[] = [],
): Promise<Look | undefined> {
  const deadline = awakeMs() + PATIENCE_MS
  const look = await lookBefore({ cwd, env, deadline }, new Printer(), uncounted)
  return awakeMs() < deadline ? look : undefined
}

const STATUS = [
  'status',
  '--porcelain=v2',
  '--branch',
  '-z',
  '--untracked-files=all',
  // Git would look into them with the filters that they name themselves; we do it.
  '--ignore-submodules=dirty',
  '--no-renames',
  '--no-ahead-behind',
]

async function lookBefore(
  options: GitOptions,
  printer: Printer,
  uncounted: readonly string[],
): Promise<Look | undefined> {
  const filters = await withOwnFilters(options)
  if (filters === undefined) return undefined
  const [said, submodules] = await Promise.all([
    askGit([...filters, ...STATUS], options),
    listSubmodules(options),
  ])
  if (said === undefined) return undefined
  const status = parseStatus(said)
  // Where nothing can differ, there is nothing to find.
  const isClean = status.entries.length + submodules.length === 0
  const root = isClean ? options.cwd : await findRoot(options)
  if (root === undefined) return undefined
  return makeLook(status, submodules, { ...options, root, printer }, uncounted)
}

/** Paths of commits of other repositories, from the root. */
async function listSubmodules(options: GitOptions): Promise<Buffer[]> {
  const said = (await askGit(['ls-files', '-z', '--stage', '--full-name', ':/'], options)) ?? ''
  // One sign for each byte.
  const lines = said.toString('latin1').split('\0')
  return lines.flatMap((line) =>
    line.startsWith(GITLINK) ? [Buffer.from(line.slice(line.indexOf('\t') + 1), 'latin1')] : [],
  )
}

const GITLINK = '160000 '

/** Looks at all that differs. */
async function makeLook(
  { head, entries }: Status,
  submodules: readonly Buffer[],
  round: Round,
  uncounted: readonly string[],
): Promise<Look | undefined> {
  const prints = await printAll(entries, round)
  if (prints === undefined) return undefined
  await printChanged(submodules, prints, round)
  const folders = uncounted.map((folder) => relative(round.root, folder) + sep)
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

interface Round extends GitOptions {
  readonly root: string
  readonly printer: Printer
}

/** After so many files others have their turn. */
const AT_A_TIME = 100

/** Undefined where there is no time for all of them. */
async function printAll(
  entries: readonly Entry[],
  round: Round,
): Promise<Map<string, string> | undefined> {
  const { root, printer, deadline } = round
  const prints = new Map<string, string>()
  for (const [index, { path, isRepository }] of entries.entries()) {
    if (awakeMs() > deadline) return undefined
    if (index % AT_A_TIME === AT_A_TIME - 1) await new Promise(setImmediate)
    const full = Buffer.concat([Buffer.from(root + sep), path])
    const inside = isRepository ? await printRepository(full.toString(), round) : undefined
    const print = inside ?? printer.print(full)
    if (print !== undefined) prints.set(path.toString(), print)
  }
  return prints
}

/** What is in submodules and not committed there. */
async function printChanged(
  submodules: readonly Buffer[],
  prints: Map<string, string>,
  round: Round,
): Promise<void> {
  for (const path of submodules) {
    const cwd = join(round.root, path.toString())
    if (prints.has(path.toString()) || !existsSync(join(cwd, '.git'))) continue
    const look = await lookInside(cwd, round)
    if (look !== undefined && look.prints.size > 0) prints.set(path.toString(), printOf(look))
  }
}

/** To the repository around it, one inside of it is a single path. */
async function printRepository(cwd: string, round: Round): Promise<string | undefined> {
  const look = await lookInside(cwd, round)
  return look && printOf(look)
}

function printOf({ head, tree }: Look): string {
  return `repository ${head} ${tree}`
}

async function lookInside(cwd: string, round: Round): Promise<Look | undefined> {
  const { GIT_DIR: _, GIT_WORK_TREE: __, GIT_INDEX_FILE: ___, ...rest } = round.env
  // One that is broken is not mistaken for that around it.
  const env = { ...rest, GIT_CEILING_DIRECTORIES: round.root }
  return lookBefore({ cwd, env, deadline: round.deadline }, round.printer, [])
}

/** What happened between two looks. */
interface Changes {
  /** The commit after it, where it is another one. */
  head?: string
  commits: number
  /** Not all where there are many. */
  files: string[]
  fileCount: number
}

const MOST_CHANGES = 100

/** What was committed between two looks, and what differs from HEAD in another way than before. */
export async function changesBetween(
  cwd: string,
  before: Look,
  after: Look,
  env: Readonly<Record<string, string>>,
): Promise<Changes> {
  const options = { cwd, env, deadline: awakeMs() + PATIENCE_MS }
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

type Head = Look['head']

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
