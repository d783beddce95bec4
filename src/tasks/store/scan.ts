import { lstatSync } from 'node:fs'
import { basename, join } from 'node:path'
import { errorText, tryOr } from '../../base/errors.ts'
import { readTextFile } from '../../base/files.ts'
import { BrokenFile } from '../text/fields.ts'
import { readFolder } from './folder.ts'
import { findUnchanged, writeIndex } from './index-file.ts'
import type { TaskFolders } from '../folders.ts'
import { idOfFileName } from '../file-name.ts'
import { canonicalId } from '../id.ts'
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
}

/** How many changed files make it worth writing the index again. */
const WORTH_WRITING = 8

/** Reads all open tasks, unchanged ones from the index. */
export function scanTasks(folders: TaskFolders): Scan {
  const seenAt = Date.now()
  const folder = readFolder(folders.tasks)
  const known = findUnchanged(folders, folder)
  if (known.changed.length === 0) return reportDuplicates(known.tasks, [])
  const read = readTasks(folders.tasks, known.changed)
  const tasks = [...known.tasks, ...read.tasks].toSorted(inListOrder)
  if (read.tasks.length >= WORTH_WRITING) writeIndex(folders, tasks, folder, seenAt)
  return reportDuplicates(tasks, read.broken)
}

/** Reads files of a folder, in the given order. */
export function readTasks(folder: string, files: readonly string[]): Scan {
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
function isTaskFile(path: string, file: string): boolean {
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

export function tryToReadText(path: string): string | undefined {
  return tryOr(undefined, () => readTaskText(path))
}

export function readTaskFile(path: string, file: string): Task | Broken {
  try {
    return parseTask(readTaskText(path), file)
  } catch (error) {
    if (error instanceof BrokenFile) return { file, line: error.line, problem: error.message }
    return { file, line: 1, problem: errorText(error) }
  }
}

/** For files that cannot be parsed. */
const ID_LINE = /^\uFEFF?(?:---|<{7})[\s\S]*?\nid:[ \t]*["']?([\w-]+)/

/** The id that is written in a file, even if the file is otherwise unreadable. */
export function idInside(folder: string, file: string): string | undefined {
  const path = join(folder, file)
  const task = readTaskFile(path, file)
  if (!('problem' in task)) return task.id
  return canonicalId(ID_LINE.exec(tryToReadText(path) ?? '')?.[1] ?? '')
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
