import { printable } from '../base/terminal/printable.ts'
import { join } from 'node:path'
import { UserError } from '../base/errors.ts'
import { Archive } from './archive.ts'
import { BrokenFile } from './text/frontmatter.ts'
import { readConfig } from './store/config.ts'
import { parseId, readId, renderId, type TaskId } from './id.ts'
import type { TaskFolders } from './folders.ts'
import { listFiles } from './store/folder.ts'
import { readTaskText, scanTasks } from './store/scan.ts'
import { byAge, parseTask, type Task } from './task.ts'

/** A task with the whole text of its file. */
export interface TaskText {
  readonly task: Task
  readonly text: string
  readonly path: string
}

class NotFound extends UserError {
  override readonly exitCode = 1
}

/** The file exists but cannot be read as a task. */
export class Unusable extends NotFound {}

/** Reads `TASK-1`, `task-001` or `1`; only the last form needs the configuration. */
export function resolveId(folders: TaskFolders, word: string): TaskId {
  return readId(word) ?? parseId(word, readConfig(folders).prefix)
}

export function tryToResolveId(folders: TaskFolders, word: string): string | undefined {
  try {
    return renderId(resolveId(folders, word))
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return undefined
  }
}

/** Finds a task by an id as people type it, archived tasks included. */
export function findTask(folders: TaskFolders, word: string): TaskText {
  const id = resolveId(folders, word)
  const open = findNamed(folders.tasks, id)
  if (open.sound.length === 1) return open.sound[0]!
  const listed = findListed(folders, id)
  if (listed !== undefined) return listed
  if (open.unusable !== undefined) throw open.unusable
  const archived = findNamed(folders.archive, id)
  const [oldest] = archived.sound.toSorted((a, b) => byAge(a.task, b.task))
  if (oldest !== undefined) return oldest
  if (archived.unusable !== undefined) throw archived.unusable
  const renamed = new Archive(folders).fileOf(renderId(id))
  if (renamed !== undefined) return readTaskOrThrow(folders.archive, renamed)
  throw notFoundError(id, scanTasks(folders).tasks)
}

/** Undefined if there is no such task; throws `Unusable` if its file cannot be read. */
export function findOrNone(folders: TaskFolders, id: string): TaskText | undefined {
  try {
    return findTask(folders, id)
  } catch (error) {
    if (error instanceof NotFound && !(error instanceof Unusable)) return undefined
    throw error
  }
}

/** True also if a file of that id exists but cannot be read. */
export function hasTask(folders: TaskFolders, id: string): boolean {
  try {
    return findOrNone(folders, id) !== undefined
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return true
  }
}

interface Named {
  readonly sound: readonly TaskText[]
  readonly unusable: Unusable | undefined
}

/** Uses the file names, so that other files need not be read. */
function findNamed(folder: string, id: TaskId): Named {
  const wanted = renderId(id)
  const name = new RegExp(`^${id.prefix}-0*${id.number}(?: - .*)?\\.md$`, 'i')
  const sound: TaskText[] = []
  let unusable: Unusable | undefined
  for (const file of listFiles(folder).filter((each) => name.test(each))) {
    try {
      const found = readTaskOrThrow(folder, file)
      if (found.task.id === wanted) sound.push(found)
    } catch (error) {
      if (!(error instanceof Unusable)) throw error
      unusable = error
    }
  }
  return { sound, unusable }
}

/** Throws `Unusable` with the line of the problem. */
export function readTaskOrThrow(folder: string, file: string): TaskText {
  const path = join(folder, file)
  try {
    const text = readTaskText(path)
    return { task: parseTask(text, file), text, path }
  } catch (error) {
    if (!(error instanceof BrokenFile)) throw error
    throw new Unusable(
      `${printable(file)}:${error.line}: ${error.message}`,
      'Fix the file, or run: forge-tasks doctor',
    )
  }
}

/** A renamed file still has its id inside; if several files share an id, the listed one counts. */
function findListed(folders: TaskFolders, id: TaskId): TaskText | undefined {
  const task = scanTasks(folders).tasks.find((each) => each.id === renderId(id))
  if (task === undefined) return undefined
  return readTaskOrThrow(folders.tasks, task.file)
}

/** Suggests tasks with similar ids. */
export function notFoundError(id: TaskId, tasks: readonly Task[]): UserError {
  return new NotFound(`No task ${renderId(id)}.`, describeNear(id, tasks))
}

function describeNear(id: TaskId, tasks: readonly Task[]): string {
  if (tasks.length === 0) return 'There are no tasks yet.'
  const all = tasks
    .map((task) => ({ task, distance: Math.abs(Number(task.id.split('-')[1]) - id.number) }))
    .toSorted((a, b) => a.distance - b.distance)
  const near = all
    .filter(({ task, distance }) => distance < 4 || hasOtherDigit(task.id, renderId(id)))
    .slice(0, 3)
    .map(({ task }) => `  ${task.id}  ${task.title}`)
  if (near.length > 0) return `Similar ids:\n${near.join('\n')}`
  const ids = tasks.map((task) => task.id).toSorted()
  return ids.length === 1
    ? `The only task is ${ids[0]}.`
    : `Ids go from ${ids[0]} to ${ids.at(-1)}.`
}

/** Whether two ids differ in one digit. */
function hasOtherDigit(a: string, b: string): boolean {
  return a.length === b.length && a.split('').filter((digit, at) => digit !== b[at]).length === 1
}
