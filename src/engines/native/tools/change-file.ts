import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  readFileSync,
  realpathSync,
  type Stats,
} from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'
import { writeFileAtomic } from '../../../base/atomic-write.ts'
import { errorCode } from '../../../base/errors.ts'
import { explainOpening, formatBytes } from '../../../base/files.ts'
import { openFolder, openInside, pathInside, throughOpened } from '../../../base/places.ts'
import { shorten } from '../../../base/shorten.ts'
import { shownPath } from '../../../base/terminal/printable.ts'
import { explainSystem, explainNotOpened, refuse } from './problems.ts'
import { WHOLE_BYTES } from './read.ts'
import type { ToolAnswer, Workspace } from './tool.ts'

/** The current state of a file that may be changed. */
export interface Existing {
  /** Absolute, all links followed. */
  readonly path: string
  readonly bytes: Buffer
  readonly mode: number
}

/** The file, or an answer why it cannot be changed. `missing`: it does not exist, so `write` may create it. */
export function readExisting(
  action: string,
  path: string,
  workspace: Workspace,
): Existing | { readonly missing: boolean; readonly answer: ToolAnswer } {
  const opened = openInside(path, workspace)
  if (opened.kind !== 'opened') {
    const missing =
      opened.kind === 'failed' && explainOpening(opened.error, opened.path).kind === 'missing'
    return { missing, answer: explainNotOpened(action, path, opened, workspace) }
  }
  try {
    const stat = fstatSync(opened.fd)
    const problem = problemOf(opened.path, stat)
    if (problem !== undefined) return { missing: false, answer: refuse(action, path, problem) }
    return { path: opened.path, bytes: readFileSync(opened.fd), mode: stat.mode }
  } finally {
    closeSync(opened.fd)
  }
}

function problemOf(path: string, stat: Stats): string | undefined {
  if (stat.isDirectory()) return 'it is a folder'
  if (!stat.isFile()) return 'it is not a regular file'
  if (stat.size > WHOLE_BYTES) {
    return `it is ${formatBytes(stat.size)}, the limit is ${formatBytes(WHOLE_BYTES)}; use bash`
  }
  try {
    // Replacing a file would not need this permission.
    accessSync(path, constants.W_OK)
    return undefined
  } catch {
    return 'no permission to write to it'
  }
}

/** Creates or replaces a file, and creates its folders; returns the problem, if any. */
export function saveFile(
  path: string,
  bytes: Uint8Array,
  mode: number | undefined,
  workspace: Workspace,
): string | undefined {
  try {
    if (isOfGit(path)) return OF_GIT
    const folder = openFolder(dirname(path), workspace)
    if (folder === undefined) return 'its folder has moved'
    try {
      const opened = throughOpened(folder, dirname(path))
      if (isOfGit(realpathSync(opened))) return OF_GIT
      const place = join(opened, basename(path))
      writeFileAtomic(place, bytes, { durable: true, mode })
      return undefined
    } finally {
      closeSync(folder)
    }
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    return explainSystem(error)
  }
}

const OF_GIT = 'git keeps its own files there; use git commands instead'

/** Git runs commands that its own files name, such as those in .git/config. */
function isOfGit(path: string): boolean {
  return path.toLowerCase().split(sep).includes('.git')
}

/** Maximum number of lines to show and, because the time is quadratic, to compare. */
const MOST_LINES = 1000
const LINE_LENGTH = 500

/** A unified diff with paths relative to the project; `before` is undefined for a new file. */
export async function makeDiff(
  path: string,
  before: Buffer | undefined,
  after: Buffer,
  { cwd }: Workspace,
): Promise<string> {
  const { createTwoFilesPatch, OMIT_HEADERS } = await import('diff/lib/patch/create.js')
  const [from, to] = [before?.toString('utf8') ?? '', after.toString('utf8')]
  const maxEditLength = before === undefined ? Infinity : MOST_LINES
  const options = { context: 3, maxEditLength, headerOptions: OMIT_HEADERS }
  const diff = createTwoFilesPatch('', '', from, to, undefined, undefined, options)
  const short = relative(pathInside('.', { cwd }) ?? cwd, path)
  const name = shownPath(short.startsWith('..') ? path : short)
  // Written here, because the library escapes non-ASCII characters.
  const headers = `--- ${before === undefined ? '/dev/null' : `a/${name}`}\n+++ b/${name}\n`
  if (diff !== undefined) return headers + shortenDiff(diff)
  const [was, is] = [from, to].map((text) => text.split('\n').length)
  return `${headers}[too many changes to show: ${was} lines before, ${is} now]\n`
}

function shortenDiff(diff: string): string {
  const lines = diff.split('\n')
  const more = lines.length - MOST_LINES
  const shown = lines.slice(0, MOST_LINES).map((line) => shorten(line, LINE_LENGTH))
  return more <= 0 ? shown.join('\n') : `${shown.join('\n')}\n[${more} more lines]\n`
}
