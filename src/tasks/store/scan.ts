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

/** A file that cannot be used, and why. */
export interface Broken {
  readonly file: string
  readonly line: number
  readonly problem: string
}

export interface Scan {
  /** By priority, then by age. */
  readonly tasks: readonly Task[]
  readonly broken: readonly Broken[]
  /** Between these tasks, where the index knows them. */
  readonly links?: Links | undefined
}

/** Of fewer changed files each is read anew every time, which costs less than writing the index again. */
export function worthWriting(count: number): number {
  return Math.max(8, Math.sqrt(count) / 6)
}

/** Every task of the folder; what did not change since the last time comes from the index. */
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
  // A broken file is never in the index: it is no reason to write it again.
  if (read.tasks.filter(fitsIn).length >= worthWriting(files.length)) {
    writeIndex(places, all, folder, seenAt)
  }
  const ids = new Set(read.tasks.map(({ id }) => id))
  const isNew = ids.size === read.tasks.length && !tasks.some(({ id }) => ids.has(id))
  return isUnique && isNew ? { tasks: all, broken: read.broken } : refuseTwins(all, read.broken)
}

const FEW = 32

/** To sort everything again for a few would take longer than all the rest. */
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

/** Reads what the index does not know. */
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

/** Neither one that was archived in the meantime, nor a README, is a broken task. */
export function isTaskFile(path: string, file: string): boolean {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return isUnspeakable(file)
  if (idOfFileName(file) !== undefined) return true
  const read = readTextFile(path, TASK_LIMIT_BYTES)
  return read.kind !== 'text' || /^\uFEFF?(?:---|<{7})/.test(read.text)
}

/** What stands for bytes of a name that are no text: by this name the file cannot be reached. */
const NO_TEXT = '\uFFFD'

function isUnspeakable(name: string): boolean {
  return name.includes(NO_TEXT)
}

export const TASK_LIMIT_BYTES = 16 * 1024 * 1024

/** The text of a task file; throws `BrokenFile` where it is none that could be written back. */
export function readTaskText(path: string): string {
  const file = readTextFile(path, TASK_LIMIT_BYTES)
  if (file.kind === 'text') return file.text
  if (file.kind === 'unusable') throw new BrokenFile(`it ${file.problem}`, 1)
  if (isUnspeakable(basename(path))) throw new BrokenFile('its name is not UTF-8: rename it', 1)
  throw new BrokenFile('it is a symbolic link that leads nowhere', 1)
}

export function readTaskFile(path: string, file: string): Task | Broken {
  try {
    return parseTask(readTaskText(path), file)
  } catch (error) {
    if (error instanceof BrokenFile) return { file, line: error.line, problem: error.message }
    return { file, line: 1, problem: errorText(error) }
  }
}

/** Of two files with one id the older one keeps it. */
function refuseTwins(tasks: readonly Task[], broken: readonly Broken[]): Scan {
  const byId = new Map<string, Task>()
  const twins: Broken[] = []
  for (const task of tasks) {
    const twin = byId.get(task.id)
    const [older, younger] =
      twin === undefined || byAge(task, twin) < 0 ? [task, twin] : [twin, task]
    byId.set(task.id, older)
    if (younger === undefined) continue
    const problem = `its id ${task.id} is also that of "${older.file}"; run: forge-tasks doctor --fix`
    twins.push({ file: younger.file, line: 1, problem })
  }
  if (twins.length === 0) return { tasks, broken }
  return { tasks: [...byId.values()].toSorted(inListOrder), broken: [...broken, ...twins] }
}
