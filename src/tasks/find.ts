import { printable } from '../base/terminal/printable.ts'
import { join } from 'node:path'
import { UserError } from '../base/errors.ts'
import { Archive } from './archive.ts'
import { BrokenFile } from './text/fields.ts'
import { Refused } from './refused.ts'
import { readConfig } from './store/config.ts'
import { idOfFileName } from './file-name.ts'
import { parseId, readId, renderId } from './id.ts'
import type { TaskFolders } from './folders.ts'
import { listFiles } from './store/folder.ts'
import { readTaskText, scanTasks } from './store/scan.ts'
import { parseTask, type Task } from './task.ts'

/** A task with the whole text of its file. */
export interface TaskText {
  readonly task: Task
  readonly text: string
  readonly path: string
}

/** The file exists but cannot be read as a task. */
export class UnreadableTask extends Refused {}

/** Reads `TASK-1`, `task-001` or `1`; only the last form needs the configuration. */
export function resolveId(folders: TaskFolders, word: string): string {
  return renderId(readId(word) ?? parseId(word, readConfig(folders).prefix))
}

export function tryToResolveId(folders: TaskFolders, word: string): string | undefined {
  try {
    return resolveId(folders, word)
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return undefined
  }
}

/** Finds a task by an id as people type it, archived tasks included. */
export function findTask(folders: TaskFolders, word: string): TaskText {
  const id = resolveId(folders, word)
  const found = lookUpTask(folders, id)
  if (found !== undefined) return found
  throw notFoundError(id, scanTasks(folders).tasks)
}

/** Undefined if there is no such task; throws `UnreadableTask` if its file cannot be read. */
export function lookUpTask(folders: TaskFolders, id: string): TaskText | undefined {
  const named = listFiles(folders.tasks).filter((file) => idOfFileName(file) === id)
  const [only] = named.length === 1 ? named : []
  // Usually its name is enough to find it, and no other file has to be read.
  const open = only === undefined ? undefined : readTaskOrThrow(folders.tasks, only)
  if (open?.task.id === id) return open
  // A renamed file still has its id inside; if several files share an id, the listed one counts.
  const listed = scanTasks(folders).tasks.find((task) => task.id === id)
  if (listed !== undefined) return readTaskOrThrow(folders.tasks, listed.file)
  for (const file of named) readTaskOrThrow(folders.tasks, file)
  const file = new Archive(folders).fileOf(id)
  const archived = file === undefined ? undefined : readTaskOrThrow(folders.archive, file)
  return archived?.task.id === id ? archived : undefined
}

/** True also if a file of that id exists but cannot be read. */
export function hasTask(folders: TaskFolders, id: string): boolean {
  try {
    return lookUpTask(folders, id) !== undefined
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return true
  }
}

/** Throws `UnreadableTask` with the line of the problem. */
export function readTaskOrThrow(folder: string, file: string): TaskText {
  const path = join(folder, file)
  try {
    const text = readTaskText(path)
    return { task: parseTask(text, file), text, path }
  } catch (error) {
    if (!(error instanceof BrokenFile)) throw error
    throw new UnreadableTask(
      `${printable(file)}:${error.line}: ${error.message}`,
      'Fix the file, or run: forge-tasks doctor',
    )
  }
}

/** Suggests tasks with similar ids. */
export function notFoundError(id: string, tasks: readonly Task[]): UserError {
  return new Refused(`No task ${id}.`, describeNearest(id, tasks))
}

function describeNearest(id: string, tasks: readonly Task[]): string {
  if (tasks.length === 0) return 'There are no tasks yet; create one: forge-tasks create "Title"'
  const numberOf = (each: string) => readId(each)!.number
  const lines = tasks
    .map((task) => ({ task, distance: Math.abs(numberOf(task.id) - numberOf(id)) }))
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ task }) => `  ${task.id}  ${task.title}`)
  return `Similar ids:\n${lines.join('\n')}`
}
