import { basename, dirname, join, relative } from 'node:path'
import { formatBytes, readTextFile, statOf } from '../../base/files.ts'
import { askGitSync } from '../../base/tracked.ts'
import type { TaskFolders } from '../folders.ts'
import { TASK_LIMIT_BYTES, tryToReadText, type Broken } from '../store/scan.ts'
import { parseTask } from '../task.ts'
import { escapeContent, readOutline } from '../text/body.ts'
import { resolveConflicts } from '../text/conflict.ts'
import type { Span } from '../text/yaml-tokens.ts'
import { makeCheck, type TaskCheck, type Database, type TaskProblem } from './check.ts'

/** Files that cannot be read as tasks. Fixes merge conflicts that have only one right answer. */
export const brokenFiles: TaskCheck = {
  ...makeCheck((folders, database) =>
    allBroken(database)
      .filter(({ file }) => !isOversized(join(folders.tasks, file)))
      .map((each) => examineConflict(folders, each)),
  ),

  // Git considers a conflict resolved only after `git add`.
  completeFix: (folders, finding) => {
    const name = relative(folders.root, join(folders.tasks, finding.file))
    const unmerged = askGitSync(folders.root, ['ls-files', '--unmerged', '--', name], process.env)
    if (!unmerged) return finding
    return { ...finding, mended: `${finding.mended}; mark it as resolved: git add "${name}"` }
  },
}

function allBroken({ broken, archived }: Database): Broken[] {
  return [...broken, ...archived.broken]
}

/** Adds how to resolve a conflict, and the line that a person has to decide. */
function examineConflict({ tasks }: TaskFolders, broken: Broken): TaskProblem {
  const path = join(tasks, broken.file)
  const text = tryToReadText(path) ?? ''
  const resolved = resolveConflicts(text)
  if (typeof resolved === 'string' && resolved !== text && isTask(resolved, broken.file)) {
    return {
      findings: [{ ...broken, mended: 'merged both sides' }],
      fix: ({ draft }) => draft.write(path, resolved),
      advice: '; edit the file, or run: forge-tasks doctor --fix',
    }
  }
  if (typeof resolved === 'string') return { findings: [broken] }
  return {
    findings: [{ ...broken, line: resolved }],
    advice: '; the two sides contradict each other: edit the file and remove the conflict markers',
  }
}

function isTask(text: string, file: string): boolean {
  try {
    parseTask(text, basename(file))
    return true
  } catch {
    return false
  }
}

/** Longer files are left to a person. */
const READ_LIMIT_BYTES = 512 * 1024 * 1024

/** Longer sections are cut to `KEPT`. */
const LONG = 64 * 1024
const KEPT = 16 * 1024

/** Files that are too long for a task. The fix cuts long sections and keeps the full text in another file. */
export const oversized = makeCheck(({ tasks }, database) =>
  allBroken(database)
    .filter(({ file }) => isOversized(join(tasks, file)))
    .map((broken) => {
      const path = join(tasks, broken.file)
      const shortened = shortenFile(path)
      if (shortened === undefined) return { findings: [broken] }
      const { full, name, text } = shortened
      const mended = `cut long sections; the full text is in "${name}"`
      return {
        findings: [{ ...broken, mended }],
        fix: ({ draft }) => {
          // In this order, so that a crash between the two writes loses nothing.
          draft.write(join(dirname(path), name), full)
          draft.write(path, text)
        },
        advice: '; run: forge-tasks doctor --fix',
      }
    }),
)

function isOversized(path: string): boolean {
  const stat = statOf(path)
  return stat?.isFile() === true && stat.size > TASK_LIMIT_BYTES
}

interface Shortened {
  readonly full: string
  /** The file for the full text, in the same folder. */
  readonly name: string
  readonly text: string
}

function shortenFile(path: string): Shortened | undefined {
  const read = readTextFile(path, READ_LIMIT_BYTES)
  if (read.kind !== 'text') return undefined
  const name = freeName(path)
  try {
    const text = shortenTask(read.text, name)
    const isShort = Buffer.byteLength(text) <= TASK_LIMIT_BYTES
    return isShort && isTask(text, path) ? { full: read.text, name, text } : undefined
  } catch {
    return undefined
  }
}

function freeName(path: string): string {
  const stem = path.replace(/\.md$/, '.full')
  let [free, number] = [`${stem}.txt`, 1]
  while (statOf(free) !== undefined) free = `${stem}-${++number}.txt`
  return basename(free)
}

function shortenTask(text: string, name: string): string {
  const { intro, sections, loose } = readOutline(text)
  const spans = [intro, ...sections.map(({ content }) => content), ...(loose ? [loose] : [])]
  const long = spans.filter(({ start, end }) => end - start > LONG)
  return long
    .toSorted((a, b) => b.start - a.start)
    .reduce(
      (shorter, span) =>
        shorter.slice(0, span.start) + cut(text, span, name) + shorter.slice(span.end),
      text,
    )
}

function cut(text: string, { start, end }: Span, name: string): string {
  const kept = text.slice(start, start + KEPT)
  const lines = kept.includes('\n') ? kept.slice(0, kept.lastIndexOf('\n')) : kept.toWellFormed()
  const size = formatBytes(Buffer.byteLength(text.slice(start, end)))
  return `${escapeContent(lines, '\n')}\n\nCut by forge-tasks doctor from ${size}. The full text is in "${name}".\n`
}
