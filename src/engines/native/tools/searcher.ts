import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  type Stats,
} from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path'
import type { SearchRequest } from './search-request.ts'

// A program of its own, passed to the runtime as text (search.ts), so it may import only types from
// this project. As a process it can be killed when a pattern or a large folder takes too long.

const request = JSON.parse(process.argv[1] ?? '') as SearchRequest
const { base, cwd, places } = request

const LARGEST_BYTES = 32 * 1024 * 1024
const KIND_BYTES = 8192
const LINE_LENGTH = 300
const OUTPUT_BYTES = 40_000
const FOREIGN = new Set(['.git', 'node_modules'])

function isInside(path: string): boolean {
  return places.some((place) =>
    `${path}${sep}`.startsWith(place.endsWith(sep) ? place : place + sep),
  )
}

interface Folder {
  readonly path: string
  readonly fd: number
  /** On Linux it refers to the same folder as long as that is open. */
  readonly place: string
}

/** The last folder stays open, because files are visited folder by folder. */
let opened: Folder | undefined

/**
 * Opens a folder, so that its files are reached even if it is replaced in the meantime; undefined if
 * it is outside. The index of a repository may list files below what is now a link to elsewhere.
 */
function open(path: string): Folder | undefined {
  if (opened?.path === path) return opened
  if (opened !== undefined) closeSync(opened.fd)
  opened = undefined
  let fd: number
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY)
  } catch {
    return undefined
  }
  const through = `/proc/self/fd/${fd}`
  const isLinux = existsSync(through)
  if (isInside(isLinux ? readlinkSync(through) : realpathSync(path))) {
    return (opened = { path, fd, place: isLinux ? through : path })
  }
  closeSync(fd)
  return undefined
}

/** The path to access a file; an allowed file itself may be in a folder that is not allowed. */
function reach(path: string): string | undefined {
  const folder = open(dirname(path))
  if (folder !== undefined) return join(folder.place, basename(path))
  return places.includes(path) ? path : undefined
}

function statAt(path: string): Stats | undefined {
  const place = reach(path)
  return place === undefined ? undefined : lstatSync(place, { throwIfNoEntry: false })
}

function git(path: string, ...args: readonly string[]) {
  const { GIT_DIR: _, GIT_WORK_TREE: __, GIT_INDEX_FILE: ___, ...env } = process.env
  const program = Bun.which('git', { PATH: absoluteIn(env['PATH']) })
  const folder = open(path)
  if (program === null || folder === undefined) return undefined
  try {
    const { exitCode, stdout } = Bun.spawnSync([program, ...request.safeGit, ...args], {
      // In the child, `self` would be another process.
      cwd: folder.place.replace('self', String(process.pid)),
      env,
      stderr: 'ignore',
    })
    return exitCode === 0 ? stdout.toString() : undefined
  } catch {
    return undefined
  }
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
      if (entry.isDirectory() && !FOREIGN.has(entry.name)) left.push(join(next, entry.name))
      if (entry.isFile()) found.push(join(next, entry.name))
    }
  }
  return found
}

function entriesOf(path: string) {
  const folder = open(path)
  try {
    return folder === undefined ? [] : readdirSync(folder.place, { withFileTypes: true })
  } catch {
    return []
  }
}

function matcherOf(pattern: string | undefined): (path: string) => boolean {
  if (pattern === undefined) return () => true
  const isNegated = pattern.startsWith('!')
  const plain = isNegated ? pattern.slice(1) : pattern
  const glob = new Bun.Glob(plain)
  const isNamed = !plain.includes('/')
  const fits = (path: string) =>
    isNamed
      ? glob.match(basename(path))
      : glob.match(relative(base, path)) || glob.match(relative(cwd, path))
  return (path) => fits(path) !== isNegated
}

function wantedFiles(): readonly string[] {
  const isFile = statAt(base)?.isFile() === true
  return isFile ? [base] : filesBelow(base).filter(matcherOf(request.glob))
}

/** A name may have anything in it; one line is one name. */
function shown(path: string): string {
  const short = relative(cwd, path)
  return (short.startsWith('..') ? path : short).replaceAll(/\p{Cc}/gu, '?')
}

let room = OUTPUT_BYTES

/** Prints as many lines as there is room for, and tells whether that was all of them. */
async function print(text: string): Promise<boolean> {
  const lines = text.split('\n')
  const fitting = lines.filter((line) => (room -= Buffer.byteLength(line) + 1) > 0)
  await say(fitting.join('\n'))
  return fitting.length === lines.length
}

async function say(text: string): Promise<void> {
  if (text !== '') await Bun.write(Bun.stdout, `${text}\n`)
}

let largest = 0

/** Text of a regular file that is not too long; never through a link. */
function readText(path: string, literal: string | undefined): string | undefined {
  const place = reach(path)
  if (place === undefined) return undefined
  let fd: number | undefined
  try {
    fd = openSync(place, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
    const stat = fstatSync(fd)
    if (!stat.isFile() || stat.size === 0) return undefined
    if (stat.size > LARGEST_BYTES) return void (largest += 1)
    const bytes = readFileSync(fd)
    if (bytes.subarray(0, KIND_BYTES).includes(0)) return undefined
    if (literal !== undefined && !bytes.includes(literal)) return undefined
    return bytes.toString('utf8').replace(/^\uFEFF/, '')
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/** The text around a match. Cut words are dropped: masking does not recognise a part of a secret. */
function around(line: string, match: string, at: number): string {
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

interface Matches {
  readonly lines: readonly string[]
  readonly at: readonly number[]
}

function search(path: string, regex: RegExp, literal: string | undefined): Matches | undefined {
  const text = readText(path, literal)
  if (text === undefined) return undefined
  const lines = text.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  const at: number[] = []
  for (const [index, line] of lines.entries()) {
    if (regex.test(line)) at.push(index)
    if (request.mode === 'files' && at.length > 0) break
  }
  return at.length === 0 ? undefined : { lines, at }
}

/** The matching lines with their context. */
function render(path: string, { lines, at }: Matches, most: number, regex: RegExp): string {
  const { context } = request
  const out = [shown(path)]
  let last = -1
  for (const match of at.slice(0, most)) {
    const start = Math.max(last + 1, match - context)
    if (context > 0 && last !== -1 && start > last + 1) out.push('--')
    const end = Math.min(lines.length, match + context + 1)
    const shownLines = lines.slice(start, end).map((line, n) => renderLine(line, start + n, regex))
    out.push(...shownLines)
    last = Math.max(last, end - 1)
  }
  return out.join('\n')
}

function renderLine(line: string, index: number, regex: RegExp): string {
  const match = regex.exec(line)
  return `${index + 1}${match === null ? '-' : ':'}${around(line, match?.[0] ?? '', match?.index ?? 0)}`
}

const MORE = 'narrow the search with pattern, path or glob'

async function findLines(): Promise<void> {
  const regex = new RegExp(request.pattern, request.flags)
  // Most patterns are plain text, and comparing bytes is fastest.
  const isWord = request.flags === '' && /^[\w "'<>=:;,@#%&~`!/-]+$/.test(request.pattern)
  const literal = isWord ? request.pattern : undefined
  let [left, matches, files] = [request.limit, 0, 0]
  for (const path of wantedFiles().toSorted()) {
    const found = search(path, regex, literal)
    if (found === undefined) continue
    files += 1
    matches += found.at.length
    const isAll = left > 0 && (await print(lineFor(path, found, left, regex)))
    left -= request.mode === 'lines' ? found.at.length : 1
    if (!isAll || left < 0) return say(`[there is more; ${MORE}]`)
  }
  await say(summary(matches, files))
}

function lineFor(path: string, found: Matches, left: number, regex: RegExp): string {
  if (request.mode === 'files') return shown(path)
  if (request.mode === 'counts') return `${shown(path)}: ${found.at.length}`
  return render(path, found, left, regex)
}

function summary(matches: number, files: number): string {
  const lines = [
    ...(files === 0 ? ['No matches.'] : []),
    ...(files > 0 && request.mode === 'counts' ? [`[${matches} lines, ${files} files]`] : []),
    ...(largest === 0 ? [] : [`[files larger than 32 MiB, skipped: ${largest}]`]),
  ]
  return lines.join('\n')
}

async function findFiles(): Promise<void> {
  const timed = wantedFiles().flatMap((path) => {
    const stat = statAt(path)
    return stat === undefined ? [] : [{ path, time: stat.mtimeMs }]
  })
  const sorted = timed.toSorted((a, b) => b.time - a.time || (a.path < b.path ? -1 : 1))
  const names = sorted.map(({ path }) => shown(path)).slice(0, request.limit)
  const isAll = await print(names.length === 0 ? 'No files.' : names.join('\n'))
  if (isAll && names.length === sorted.length) return
  await say(`[only the newest of ${sorted.length}; ${MORE}]`)
}

await (request.kind === 'grep' ? findLines() : findFiles())
