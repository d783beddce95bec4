import { UserError } from '../base/errors.ts'
import { findCycles } from './cycles.ts'
import { notFoundError } from './find.ts'
import { parseId, renderId, type TaskId } from './id.ts'
import type { TaskMistake } from './batch-error.ts'
import { parentsOf } from './ready.ts'
import { Refused } from './refused.ts'
import type { Places } from './store/places.ts'
import { scanTasks } from './store/scan.ts'
import { isUsed, type UsedIds } from './used-ids.ts'
import type { Task } from './task.ts'
import type { NewTask } from './text/new-task.ts'

interface Resolved {
  /** The tasks with all references replaced by ids. */
  readonly resolved: readonly NewTask[]
  readonly faults: readonly TaskMistake[]
}

/** `@key` refers to another task of the batch, anything else to an existing task. */
export function resolveReferences(
  places: Places,
  tasks: readonly NewTask[],
  ids: readonly TaskId[],
  taken: () => UsedIds,
  prefix: string,
): Resolved {
  const { keys, faults } = readKeys(tasks, ids)
  let open: readonly Task[] | undefined
  const resolve = (word: string): string => {
    if (word.startsWith('@')) return findKey(keys, word.slice(1))
    const id = parseId(word, prefix)
    if (isUsed(taken(), id)) return renderId(id)
    throw notFoundError(places, id, (open ??= scanTasks(places).tasks))
  }
  const resolved = tasks.map((task, index): NewTask => {
    const attempt = (word: string) => {
      try {
        return resolve(word)
      } catch (error) {
        if (!(error instanceof UserError)) throw error
        faults.push({ index, error })
        return word
      }
    }
    return {
      ...task,
      dependencies: [...new Set((task.dependencies ?? []).map(attempt))],
      parent: task.parent === undefined ? undefined : attempt(task.parent),
    }
  })
  return { resolved, faults }
}

interface Keys {
  readonly keys: ReadonlyMap<string, string>
  readonly faults: TaskMistake[]
}

function readKeys(tasks: readonly NewTask[], ids: readonly TaskId[]): Keys {
  const first = new Map<string, number>()
  const faults: TaskMistake[] = []
  for (const [index, { key }] of tasks.entries()) {
    if (key === undefined) continue
    const other = first.get(key)
    if (other === undefined) first.set(key, index)
    else faults.push({ index, error: isTwice(key, tasks[other]!) })
  }
  const keys = new Map([...first].map(([key, index]) => [key, renderId(ids[index]!)]))
  return { keys, faults }
}

function isTwice(key: string, { title }: NewTask): Refused {
  return new Refused(`Duplicate key '${key}'.`, `"${title.trim()}" has the same key.`)
}

function findKey(keys: ReadonlyMap<string, string>, key: string): string {
  const id = keys.get(key)
  if (id !== undefined) return id
  throw new Refused(`No task of this batch has the key '${key}'.`)
}

/** Only tasks of the same batch can form a cycle: no existing task depends on a new one. */
export function refuseCycles(ids: readonly string[], tasks: readonly NewTask[]): void {
  // The ids are not assigned yet, so the message names the keys.
  const nameOf = new Map(ids.map((id, index) => [id, `@${tasks[index]?.key}`]))
  const render = (cycle: readonly string[]) => cycle.map((id) => nameOf.get(id)).join(' -> ')
  const edges = new Map(ids.map((id, index) => [id, tasks[index]?.dependencies ?? []]))
  const [cycle] = findCycles(ids, (id) => edges.get(id) ?? [])
  if (cycle !== undefined) {
    throw new Refused(
      `These tasks would depend on each other: ${render(cycle)}`,
      'Remove one of these dependencies. Nothing was created.',
    )
  }
  const parents = new Map(ids.map((id, index) => [id, parentsOf(tasks[index])]))
  const [parts] = findCycles(ids, (id) => parents.get(id) ?? [])
  if (parts !== undefined) {
    throw new Refused(
      `These tasks would be parents of each other: ${render(parts)}`,
      'Remove one of these parents. Nothing was created.',
    )
  }
}
