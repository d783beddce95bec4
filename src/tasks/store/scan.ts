import { lstatSync } from 'node:fs'
import { basename, join } from 'node:path'
import { errorText } from '../../base/errors.ts'
import { readTextFile } from '../../base/files.ts'
import { BrokenFile } from '../text/frontmatter.ts'
import { readFolder } from './folder.ts'
import { readIndex, takeKnown, writeIndex } from './index-file.ts'
import { fitsIn } from './index-format.ts'
import type { Places } from './places.ts'
import { idOfFileName } from '../file-name.ts'
import type { Links } from '../links.ts'
import { byAge, inListOrder, parseTask, type Task } from '../task.ts'

/** A task file that cannot be read. */
export interface Broken {
  readonly file: string
  readonly line: number
  readonly problem: string
}

export interface Scan {
  /** Sorted by priority, then by age. */
  readonly tasks: readonly Task[]
  readonly broken: readonly Broken[]
  /** Dependencies between these tasks, if the index has them. */
  readonly links?: Links | undefined
}

/** How many changed files make it worth writing the index again. */
export function worthWriting(count: number): number {
  return Math.max(8, Math.sqrt(count) / 6)
}

/** Reads all open tasks, unchanged ones from the index. */
export function scanTasks(places: Places): Scan {
  const columns = readIndex(places)
  const seenAt = Date.now()
  const folder = readFolder(places.tasks)
  const { tasks, isUnique, changed, links } = takeKnown(columns, folder)
  if (changed.length === 0 && isUnique) return { tasks, broken: [], links }
  const files = folder.files
  const read = readChanged(
    places,
    changed.map((at) => files[at]!),
  )
  const all = insertSorted(tasks, read.tasks)
  // Broken files are never in the index, so they do not count.
  if (read.tasks.filter(fitsIn).length >= worthWriting(files.length)) {
    writeIndex(places, all, folder, seenAt)
  }
  const ids = new Set(read.tasks.map(({ id }) => id))
  const isNew = ids.size === read.tasks.length && !tasks.some(({ id }) => ids.has(id))
  return isUnique && isNew
    ? { tasks: all, broken: read.broken }
    : reportDuplicates(all, read.broken)
}

const FEW = 32

/** Sorting the whole list again for a few tasks would be slow. */
function insertSorted(sorted: readonly Task[], more: readonly Task[]): Task[] {
  if (more.length > FEW) return [...sorted, ...more].toSorted(inListOrder)
  const all = [...sorted]
  for (const task of more) {
    let [from, to] = [0, all.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if (inListOrder(all[middle]!, task) < 0) from = middle + 1
      else to = middle
    }
    all.splice(from, 0, task)
  }
  return all
}

function readChanged({ tasks: folder }: Places, files: readonly string[]): Scan {
  const tasks: Task[] = []
  const broken: Broken[] = []
  for (const file of files) {
    const path = join(folder, file)
    const task = readTaskFile(path, file)
    if (!('problem' in task)) tasks.push(task)
    else if (isTaskFile(path, file)) broken.push(task)
  }
  return { tasks, broken }
}

/** False for a file that was just archived and for other Markdown such as a README. */
export function isTaskFile(path: string, file: string): boolean {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return hasInvalidBytes(file)
  if (idOfFileName(file) !== undefined) return true
  const read = readTextFile(path, TASK_LIMIT_BYTES)
  return read.kind !== 'text' || /^\uFEFF?(?:---|<{7})/.test(read.text)
}

/** Replaces invalid bytes in a file name, which then cannot be opened by that name. */
const REPLACEMENT = '\uFFFD'

function hasInvalidBytes(name: string): boolean {
  return name.includes(REPLACEMENT)
}

export const TASK_LIMIT_BYTES = 16 * 1024 * 1024

/** Throws `BrokenFile` if the file cannot be read and written back as text. */
export function readTaskText(path: string): string {
  const file = readTextFile(path, TASK_LIMIT_BYTES)
  if (file.kind === 'text') return file.text
  if (file.kind === 'unusable') throw new BrokenFile(`it ${file.problem}`, 1)
  if (hasInvalidBytes(basename(path)))
    throw new BrokenFile('the file name is not valid UTF-8: rename the file', 1)
  throw new BrokenFile('it is a broken symbolic link', 1)
}

export function readTaskFile(path: string, file: string): Task | Broken {
  try {
    return parseTask(readTaskText(path), file)
  } catch (error) {
    if (error instanceof BrokenFile) return { file, line: error.line, problem: error.message }
    return { file, line: 1, problem: errorText(error) }
  }
}

/** If files share an id, the oldest keeps it and the others are reported as broken. */
function reportDuplicates(tasks: readonly Task[], broken: readonly Broken[]): Scan {
  const byId = new Map<string, Task>()
  const duplicates: Broken[] = []
  for (const task of tasks) {
    const other = byId.get(task.id)
    const [older, younger] =
      other === undefined || byAge(task, other) < 0 ? [task, other] : [other, task]
    byId.set(task.id, older)
    if (younger === undefined) continue
    const problem = `has the same id ${task.id} as "${older.file}"; run: forge-tasks doctor --fix`
    duplicates.push({ file: younger.file, line: 1, problem })
  }
  if (duplicates.length === 0) return { tasks, broken }
  return { tasks: [...byId.values()].toSorted(inListOrder), broken: [...broken, ...duplicates] }
}
