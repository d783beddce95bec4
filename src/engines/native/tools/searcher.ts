import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  type Stats,
} from 'node:fs'
import { basename, isAbsolute, join, relative, sep } from 'node:path'

// A separate program, passed to the runtime as text (search.ts), so it imports nothing from this
// project. As a process it can be killed when a pattern or a large folder takes too long.

/** Paths are absolute, with symbolic links resolved. */
export interface SearchRequest {
  /** The file or folder to search. */
  readonly base: string
  /** Files are named relative to it. */
  readonly cwd: string
  readonly places: readonly string[]
  readonly glob?: string | undefined
  /** The maximum number of matching lines or files. */
  readonly limit: number
  /** Options for every call of git. */
  readonly safeGit: readonly string[]
  /** Absent: only names are searched. */
  readonly grep?: {
    readonly pattern: string
    readonly flags: string
    readonly mode: 'lines' | 'files' | 'counts'
    readonly context: number
  }
}

const request = JSON.parse(process.argv[1] ?? '') as SearchRequest
const { base, cwd, places } = request

const LARGEST_BYTES = 32 * 1024 * 1024
const KIND_BYTES = 8192
const LINE_LENGTH = 300
const OUTPUT_BYTES = 40_000
const SKIPPED_FOLDERS = new Set(['.git', 'node_modules'])

function isInside(path: string): boolean {
  return places.some((place) =>
    `${path}${sep}`.startsWith(place.endsWith(sep) ? place : place + sep),
  )
}

const LINUX = existsSync('/proc/self/fd')

/**
 * Opens a file or folder; undefined if it is outside or cannot be opened. The check is made on what was
 * opened: the index of a repository may list files below what is now a link to elsewhere.
 */
function withOpened<Result>(path: string, flags: number, work: (fd: number) => Result) {
  let fd: number | undefined
  try {
    fd = openSync(path, flags | constants.O_NONBLOCK | constants.O_NOFOLLOW)
    const real = LINUX ? readlinkSync(placeOf(fd, path)) : realpathSync(path)
    return isInside(real) ? work(fd) : undefined
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/** On Linux, a path that refers to what was opened even if something else takes its place. */
function placeOf(fd: number, path: string): string {
  return LINUX ? `/proc/${process.pid}/fd/${fd}` : path
}

function statAt(path: string): Stats | undefined {
  return withOpened(path, constants.O_RDONLY, (fd) => fstatSync(fd))
}

/** The output of git in a folder; undefined if it fails. */
function git(path: string, ...args: readonly string[]): string | undefined {
  const { GIT_DIR: _, GIT_WORK_TREE: __, GIT_INDEX_FILE: ___, ...env } = process.env
  const program = Bun.which('git', { PATH: absoluteIn(env['PATH']) })
  if (program === null) return undefined
  return withOpened(path, constants.O_DIRECTORY, (fd) => {
    const command = [program, ...request.safeGit, ...args]
    const options = { cwd: placeOf(fd, path), env, stderr: 'ignore' } as const
    const { exitCode, stdout } = Bun.spawnSync(command, options)
    return exitCode === 0 ? stdout.toString() : undefined
  })
}

/** A relative entry of PATH could find a program of the project. */
function absoluteIn(path = ''): string {
  return path.split(':').filter(isAbsolute).join(':')
}

function filesBelow(folder: string): readonly string[] {
  const listed = git(folder, 'ls-files', '-coz', '--exclude-standard')
  // An ignored folder that is named explicitly is searched.
  const isIgnored = listed === '' && git(folder, 'check-ignore', '-q', '--', folder) !== undefined
  if (listed === undefined || isIgnored) return walk(folder)
  const names = [...new Set(listed.split('\0'))].filter((name) => name !== '')
  return names.flatMap((name) => filesAt(join(folder, name)))
}

/** Git lists a nested repository as a folder. */
function filesAt(path: string): readonly string[] {
  const stat = statAt(path)
  if (stat?.isDirectory() === true) return filesBelow(path)
  return stat?.isFile() === true ? [path] : []
}

function walk(folder: string): readonly string[] {
  const found: string[] = []
  const left = [folder]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    for (const entry of entriesOf(next)) {
      if (entry.isDirectory() && !SKIPPED_FOLDERS.has(entry.name)) left.push(join(next, entry.name))
      if (entry.isFile()) found.push(join(next, entry.name))
    }
  }
  return found
}

function entriesOf(path: string) {
  const list = (fd: number) => readdirSync(placeOf(fd, path), { withFileTypes: true })
  return withOpened(path, constants.O_DIRECTORY, list) ?? []
}

const { glob: wanted = '**' } = request
const isNegated = wanted.startsWith('!')
const glob = new Bun.Glob(isNegated ? wanted.slice(1) : wanted)

function isWanted(path: string): boolean {
  const names = wanted.includes('/')
    ? [relative(base, path), relative(cwd, path)]
    : [basename(path)]
  return names.some((name) => glob.match(name)) !== isNegated
}

function wantedFiles(): readonly string[] {
  const isFile = statAt(base)?.isFile() === true
  return isFile ? [base] : filesBelow(base).filter(isWanted)
}

/** A name may contain anything, but is always shown in one line. */
function displayPath(path: string): string {
  const short = relative(cwd, path)
  return (short.startsWith('..') ? path : short).replaceAll(/\p{Cc}/gu, '?')
}

let room = OUTPUT_BYTES

/** Prints as many lines as there is room for; returns whether those were all. */
async function print(text: string): Promise<boolean> {
  const lines = text.split('\n')
  const fitting = lines.filter((line) => (room -= Buffer.byteLength(line) + 1) > 0)
  await printLine(fitting.join('\n'))
  return fitting.length === lines.length
}

async function printLine(text: string): Promise<void> {
  if (text !== '') await Bun.write(Bun.stdout, `${text}\n`)
}

let skipped = 0

/** The lines of a text file that is not too large; never through a link. */
function readLines(path: string): readonly string[] {
  const read = (fd: number) => {
    const stat = fstatSync(fd)
    if (stat.size > LARGEST_BYTES) skipped += 1
    if (!stat.isFile() || stat.size > LARGEST_BYTES) return []
    const bytes = readFileSync(fd)
    if (bytes.subarray(0, KIND_BYTES).includes(0)) return []
    const lines = bytes
      .toString('utf8')
      .replace(/^\uFEFF/, '')
      .split(/\r?\n/)
    return lines.at(-1) === '' ? lines.slice(0, -1) : lines
  }
  return withOpened(path, constants.O_RDONLY, read) ?? []
}

/** The text around a match. Cut words are dropped: masking does not recognise a part of a secret. */
function excerpt(line: string, match: string, at: number): string {
  if (line.length <= LINE_LENGTH) return line
  const found = match.slice(0, LINE_LENGTH)
  const start = Math.max(0, at - 100)
  const end = Math.max(at + found.length, start + LINE_LENGTH)
  const before = line.slice(start, at)
  const after = line.slice(at + found.length, end)
  const head = start > 0 ? `…${before.replace(/^[\w+/=.~-]+/, '')}` : before
  const tail = end < line.length ? `${after.replace(/[\w+/=.~-]+$/, '')}…` : after
  return `${head}${found}${tail}`.toWellFormed()
}

/** The matching lines with their context. */
function render(
  lines: readonly string[],
  matches: readonly number[],
  context: number,
  regex: RegExp,
) {
  const out: string[] = []
  let next = 0
  for (const match of matches) {
    const start = Math.max(next, match - context)
    if (context > 0 && next > 0 && start > next) out.push('--')
    next = Math.max(next, Math.min(lines.length, match + context + 1))
    for (let index = start; index < next; index++) {
      const found = regex.exec(lines[index]!)
      const text = excerpt(lines[index]!, found?.[0] ?? '', found?.index ?? 0)
      out.push(`${index + 1}${found === null ? '-' : ':'}${text}`)
    }
  }
  return out
}

const MORE = 'narrow the search with pattern, path or glob'

async function findLines({ pattern, flags, mode, context }: NonNullable<SearchRequest['grep']>) {
  const regex = new RegExp(pattern, flags)
  let [left, count, files] = [request.limit, 0, 0]
  for (const path of wantedFiles().toSorted()) {
    const lines = readLines(path)
    const matches = [...lines.keys()].filter((index) => regex.test(lines[index]!))
    if (matches.length === 0) continue
    files += 1
    count += matches.length
    const name = mode === 'counts' ? `${displayPath(path)}: ${matches.length}` : displayPath(path)
    const found = mode === 'lines' ? render(lines, matches.slice(0, left), context, regex) : []
    const isAll = left > 0 && (await print([name, ...found].join('\n')))
    left -= mode === 'lines' ? matches.length : 1
    if (!isAll || left < 0) return printLine(`[there is more; ${MORE}]`)
  }
  if (files === 0) await printLine('No matches.')
  else if (mode === 'counts') await printLine(`[${count} lines, ${files} files]`)
  if (skipped > 0) await printLine(`[files larger than 32 MiB, skipped: ${skipped}]`)
}

async function findFiles(): Promise<void> {
  const timed = wantedFiles().flatMap((path) => {
    const stat = statAt(path)
    return stat === undefined ? [] : [{ path, time: stat.mtimeMs }]
  })
  const sorted = timed.toSorted((a, b) => b.time - a.time || (a.path < b.path ? -1 : 1))
  const names = sorted.map(({ path }) => displayPath(path)).slice(0, request.limit)
  const isAll = await print(names.length === 0 ? 'No files.' : names.join('\n'))
  if (isAll && names.length === sorted.length) return
  await printLine(`[only the newest of ${sorted.length}; ${MORE}]`)
}

await (request.grep === undefined ? findFiles() : findLines(request.grep))
