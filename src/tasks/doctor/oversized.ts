import { basename, join } from 'node:path'
import { formatBytes, readTextFile, statOf } from '../../base/files.ts'
import type { Places } from '../store/places.ts'
import { TASK_LIMIT_BYTES, type Broken } from '../store/scan.ts'
import { parseTask } from '../task.ts'
import { escapeContent, readOutline } from '../text/body.ts'
import type { Span } from '../text/yaml-signs.ts'
import type { Check, Database } from './finding.ts'

/** Longer files are left to a person. */
const READ_LIMIT_BYTES = 512 * 1024 * 1024

/** Longer sections are cut to `KEPT`. */
const LONG = 64 * 1024
const KEPT = 16 * 1024

/** Files that are too long for a task. The fix cuts long sections and keeps the full text in another file. */
export const oversized: Check = {
  find: (places, database) =>
    oversizedOf(places, database).map(({ file, line, problem }) => {
      const advice =
        shortenFile(places, file) === undefined ? '' : '; run: forge-tasks doctor --fix'
      return { file, line, problem: `${problem}${advice}` }
    }),

  fix: (places, database, { draft }) =>
    oversizedOf(places, database).flatMap(({ file, line, problem }) => {
      const shortened = shortenFile(places, file)
      if (shortened === undefined) return []
      const { full, name, text } = shortened
      // In this order, so that a crash between the two writes loses nothing.
      draft.write(join(places.tasks, file, '..', name), full)
      draft.write(join(places.tasks, file), text)
      const mended = `cut long sections; the full text is in "${name}"`
      return [{ file, line, problem, mended }]
    }),
}

function oversizedOf({ tasks }: Places, { broken, archived }: Database): Broken[] {
  return [...broken, ...archived.broken].filter(({ file }) => isOversized(join(tasks, file)))
}

export function isOversized(path: string): boolean {
  const stat = statOf(path)
  return stat?.isFile() === true && stat.size > TASK_LIMIT_BYTES
}

interface Shortened {
  readonly full: string
  /** The file for the full text, in the same folder. */
  readonly name: string
  readonly text: string
}

function shortenFile({ tasks }: Places, file: string): Shortened | undefined {
  const path = join(tasks, file)
  const read = readTextFile(path, READ_LIMIT_BYTES)
  if (read.kind !== 'text') return undefined
  const name = freeName(path)
  try {
    const text = shorten(read.text, name)
    parseTask(text, basename(file))
    const isShort = Buffer.byteLength(text) <= TASK_LIMIT_BYTES
    return isShort ? { full: read.text, name, text } : undefined
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

function shorten(text: string, name: string): string {
  const { intro, sections, loose } = readOutline(text)
  const spans = [intro, ...sections.map(({ content }) => content), ...(loose ? [loose] : [])]
  const long = spans.filter(({ start, end }) => end - start > LONG)
  return long
    .toSorted((a, b) => b.start - a.start)
    .reduce((shorter, span) => replace(shorter, span, cut(text, span, name)), text)
}

function replace(text: string, { start, end }: Span, by: string): string {
  return `${text.slice(0, start)}${by}${text.slice(end)}`
}

function cut(text: string, { start, end }: Span, name: string): string {
  const kept = text.slice(start, start + KEPT)
  const lines = kept.includes('\n') ? kept.slice(0, kept.lastIndexOf('\n')) : kept.toWellFormed()
  const size = formatBytes(Buffer.byteLength(text.slice(start, end)))
  return `${escapeContent(lines, '\n')}\n\nCut by forge-tasks doctor from ${size}. The full text is in "${name}".\n`
}
