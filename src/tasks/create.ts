import { join } from 'node:path'
import { UserError } from '../base/errors.ts'
import { BatchError, type DescribePosition, type TaskMistake } from './batch-error.ts'
import { findCycles } from './cycles.ts'
import { listUndone } from './done.ts'
import { makeFileName } from './file-name.ts'
import { notFoundError, resolveId } from './find.ts'
import { HIGHEST_NUMBER, renderId, type TaskId } from './id.ts'
import { parentsOf } from './ready.ts'
import { Refused } from './refused.ts'
import { change } from './store/change.ts'
import { readConfig, type TasksConfig } from './store/config.ts'
import type { TaskFolders } from './folders.ts'
import { scanTasks } from './store/scan.ts'
import type { State } from './store/state-shape.ts'
import type { Task } from './task.ts'
import { checkNewTask } from './text/check-fields.ts'
import { checkCriteria, checkLabels, checkTitle } from './text/check-text.ts'
import { renderNewTask, type NewTask } from './text/new-task.ts'
import { findUsedIds, highestOf } from './used-ids.ts'

/** Creates all tasks or none; returns their ids in the same order. */
export function createTasks(
  folders: TaskFolders,
  given: readonly NewTask[],
  now: Date,
  describePosition: DescribePosition = (index) => (given.length === 1 ? '' : `tasks[${index}]`),
): string[] {
  const tasks = given.map(checkNewTask)
  for (const task of tasks) checkTask(task)
  const config = readConfig(folders)
  return change(folders, (draft) => {
    const { prefix } = config
    const used = findUsedIds(folders)
    const first = takeNumbers(draft.state, used, prefix, tasks.length)
    const ids = tasks.map((_, index) => ({ prefix, number: first + index }))
    const { resolved, mistakes } = resolveReferences(folders, tasks, ids, used)
    // A task with a bad reference gets one error, not two.
    const unfinished = findUnfinished(folders, resolved, ids).filter(
      ({ index }) => !mistakes.some((mistake) => mistake.index === index),
    )
    if (mistakes.length + unfinished.length > 0)
      throw new BatchError([...mistakes, ...unfinished], describePosition)
    refuseCycles(ids.map(renderId), resolved)
    for (const [index, task] of resolved.entries()) {
      const id = ids[index]!
      const text = renderNewTask(id, withDefaults(task, config), now)
      draft.write(join(folders.tasks, makeFileName(id, task.title)), text)
    }
    const numbers = { ...draft.state.numbers, [prefix]: first + tasks.length - 1 }
    draft.state = { ...draft.state, numbers }
    return ids.map(renderId)
  })
}

/** Checks keys and references without creating anything. */
export function findMistakes(
  folders: TaskFolders,
  tasks: readonly NewTask[],
): readonly TaskMistake[] {
  const { prefix } = readConfig(folders)
  const ids = tasks.map((_, index) => ({ prefix, number: index }))
  return resolveReferences(folders, tasks, ids, findUsedIds(folders)).mistakes
}

export function checkTask({ title, status, labels = [], criteria = [] }: NewTask): void {
  checkTitle(title)
  checkLabels(labels)
  checkCriteria(criteria)
  if (status === 'Done' && criteria.length > 0) {
    throw new Refused(
      `A task with open acceptance criteria cannot be created as Done: ${title}`,
      'Create it, then check them off: forge-tasks edit ID --check-ac 1 --status done',
    )
  }
}

/** The first of `count` free numbers. */
function takeNumbers(
  { numbers }: State,
  used: ReadonlySet<string>,
  prefix: string,
  count: number,
): number {
  const highest = Math.max(numbers[prefix] ?? 0, highestOf(used, prefix))
  if (highest + count <= HIGHEST_NUMBER) return highest + 1
  throw new Refused(
    `No ids are left after ${renderId({ prefix, number: highest })}.`,
    'Set another prefix in forge/tasks/config.json.',
  )
}

/** A task with open dependencies cannot be created as Done. */
function findUnfinished(
  folders: TaskFolders,
  tasks: readonly NewTask[],
  ids: readonly TaskId[],
): TaskMistake[] {
  const changed = new Map(
    tasks.map(({ status = 'To Do' }, index) => [renderId(ids[index]!), status]),
  )
  return tasks.flatMap(({ status, title, dependencies = [] }, index) => {
    const undone = status === 'Done' ? listUndone(folders, dependencies, changed) : []
    if (undone.length === 0) return []
    const error = new Refused(
      `A task that depends on ${undone.join(', ')} cannot be created as Done: ${title}`,
      'Finish its dependencies first, or create it without --status.',
    )
    return [{ index, error }]
  })
}

function withDefaults(task: NewTask, { defaults }: TasksConfig): NewTask {
  return {
    ...task,
    priority: task.priority ?? defaults.priority,
    labels: [...new Set([...(defaults.labels ?? []), ...(task.labels ?? [])])],
  }
}

interface Resolved {
  /** The tasks with all references replaced by ids. */
  readonly resolved: readonly NewTask[]
  readonly mistakes: readonly TaskMistake[]
}

/** `@key` refers to another task of the batch, anything else to an existing task. */
function resolveReferences(
  folders: TaskFolders,
  tasks: readonly NewTask[],
  ids: readonly TaskId[],
  used: ReadonlySet<string>,
): Resolved {
  const mistakes: TaskMistake[] = []
  let open: readonly Task[] | undefined
  const keys = new Map<string, number>()
  for (const [index, { key }] of tasks.entries()) {
    const other = key === undefined ? undefined : keys.get(key)
    if (key !== undefined && other === undefined) keys.set(key, index)
    if (other === undefined) continue
    const hint = `"${tasks[other]!.title.trim()}" has the same key.`
    mistakes.push({ index, error: new Refused(`Duplicate key '${key}'.`, hint) })
  }
  const resolve = (word: string): string => {
    const index = word.startsWith('@') ? keys.get(word.slice(1)) : undefined
    if (index !== undefined) return renderId(ids[index]!)
    if (word.startsWith('@'))
      throw new Refused(`No task of this batch has the key '${word.slice(1)}'.`)
    const id = resolveId(folders, word)
    if (used.has(id)) return id
    throw notFoundError(id, (open ??= scanTasks(folders).tasks))
  }
  const resolved = tasks.map((task, index): NewTask => {
    const attempt = (word: string) => {
      try {
        return resolve(word)
      } catch (error) {
        if (!(error instanceof UserError)) throw error
        mistakes.push({ index, error })
        return word
      }
    }
    return {
      ...task,
      dependencies: [...new Set((task.dependencies ?? []).map(attempt))],
      parent: task.parent === undefined ? undefined : attempt(task.parent),
    }
  })
  return { resolved, mistakes }
}

/** Only tasks of the same batch can form a cycle: no existing task depends on a new one. */
function refuseCycles(ids: readonly string[], tasks: readonly NewTask[]): void {
  const indexOf = new Map(ids.map((id, index) => [id, index]))
  const refuse = (edgesOf: (task: NewTask) => readonly string[], problem: string, what: string) => {
    const [cycle] = findCycles(ids, (id) => {
      const index = indexOf.get(id)
      return index === undefined ? [] : edgesOf(tasks[index]!)
    })
    if (cycle === undefined) return
    // The ids are not assigned yet, so the message names the keys.
    const path = cycle.map((id) => `@${tasks[indexOf.get(id)!]!.key}`).join(' -> ')
    throw new Refused(
      `These tasks would ${problem}: ${path}`,
      `Remove one of these ${what}. Nothing was created.`,
    )
  }
  refuse(({ dependencies = [] }) => dependencies, 'depend on each other', 'dependencies')
  refuse(parentsOf, 'be parents of each other', 'parents')
}
