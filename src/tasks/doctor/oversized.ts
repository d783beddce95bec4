import { basename, join } from 'node:path'
import { formatBytes, readTextFile, statOf } from '../../base/files.ts'
import type { Places } from '../store/places.ts'
import { TASK_LIMIT_BYTES, type Broken } from '../store/scan.ts'
import { parseTask } from '../task.ts'
import { makeSafe, readOutline } from '../text/body.ts'
import type { Span } from '../text/yaml-signs.ts'
import type { Ailment, Patient } from './finding.ts'

/** More than anybody writes by hand; what is longer still is left to a person. */
const READ_LIMIT_BYTES = 512 * 1024 * 1024

/** Sections that are longer keep their beginning. */
const LONG = 64 * 1024
const KEPT = 16 * 1024

/** Files that are too long to be read as tasks. The whole text is kept in a file beside the task. */
export const oversized: Ailment = {
  find: (places, patient) =>
    oversizedOf(places, patient).map(({ file, line, problem }) => {
      const advice =
        shortenFile(places, file) === undefined ? '' : '; run: forge-tasks doctor --fix'
      return { file, line, problem: `${problem}${advice}` }
    }),

  mend: (places, patient, { draft }) =>
    oversizedOf(places, patient).flatMap(({ file, line, problem }) => {
      const shortened = shortenFile(places, file)
      if (shortened === undefined) return []
      const { full, name, text } = shortened
      // In this order: after a crash between the two nothing is lost.
      draft.write(join(places.tasks, file, '..', name), full)
      draft.write(join(places.tasks, file), text)
      const mended = `long sections are cut; the whole text is in "${name}"`
      return [{ file, line, problem, mended }]
    }),
}

function oversizedOf({ tasks }: Places, { broken, archived }: Patient): Broken[] {
  return [...broken, ...archived.broken].filter(({ file }) => isOversized(join(tasks, file)))
}

export function isOversized(path: string): boolean {
  const stat = statOf(path)
  return stat?.isFile() === true && stat.size > TASK_LIMIT_BYTES
}

interface Shortened {
  readonly full: string
  /** Of the file for the whole text, in the same folder. */
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
  return `${makeSafe(lines, '\n')}\n\nCut by forge-tasks doctor, it was ${size} long. The whole text is in "${name}".\n`
}
