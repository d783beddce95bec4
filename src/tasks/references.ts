import { UserError } from '../base/errors.ts'
import { findCycles } from './cycles.ts'
import { missing } from './find.ts'
import { parseId, renderId, type TaskId } from './id.ts'
import type { Fault } from './mistakes.ts'
import { parentsOf } from './ready.ts'
import { Refused } from './refused.ts'
import type { Places } from './store/places.ts'
import { scanTasks } from './store/scan.ts'
import { isTaken, type Taken } from './taken.ts'
import type { Task } from './task.ts'
import type { NewTask } from './text/new-task.ts'

interface Resolved {
  /** The tasks, with ids in the place of what they refer to. */
  readonly resolved: readonly NewTask[]
  readonly faults: readonly Fault[]
}

/** `@key` is another task of the same batch; everything else is the id of a task that is there. */
export function resolveReferences(
  places: Places,
  tasks: readonly NewTask[],
  ids: readonly TaskId[],
  taken: () => Taken,
  prefix: string,
): Resolved {
  const { keys, faults } = readKeys(tasks, ids)
  let open: readonly Task[] | undefined
  const resolve = (word: string): string => {
    if (word.startsWith('@')) return findKey(keys, word.slice(1))
    const id = parseId(word, prefix)
    if (isTaken(taken(), id)) return renderId(id)
    throw missing(places, id, (open ??= scanTasks(places).tasks))
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
  readonly faults: Fault[]
}

function readKeys(tasks: readonly NewTask[], ids: readonly TaskId[]): Keys {
  const first = new Map<string, number>()
  const faults: Fault[] = []
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
  return new Refused(`The key '${key}' is there twice.`, `"${title.trim()}" has it, too.`)
}

function findKey(keys: ReadonlyMap<string, string>, key: string): string {
  const id = keys.get(key)
  if (id !== undefined) return id
  throw new Refused(`No task of this batch has the key '${key}'.`)
}

/** Only a batch can close a circle: nothing that was there before depends on what is new. */
export function refuseCycles(ids: readonly string[], tasks: readonly NewTask[]): void {
  // Nobody has the ids yet, and only by its key can another one mean a task.
  const nameOf = new Map(ids.map((id, index) => [id, `@${tasks[index]?.key}`]))
  const tell = (cycle: readonly string[]) => cycle.map((id) => nameOf.get(id)).join(' -> ')
  const edges = new Map(ids.map((id, index) => [id, tasks[index]?.dependencies ?? []]))
  const [cycle] = findCycles(ids, (id) => edges.get(id) ?? [])
  if (cycle !== undefined) {
    throw new Refused(
      `These tasks would wait for each other: ${tell(cycle)}`,
      'Leave one of these dependencies out. Nothing was created.',
    )
  }
  const parents = new Map(ids.map((id, index) => [id, parentsOf(tasks[index])]))
  const [parts] = findCycles(ids, (id) => parents.get(id) ?? [])
  if (parts !== undefined) {
    throw new Refused(
      `These tasks would be parts of each other: ${tell(parts)}`,
      'Leave one of these parents out. Nothing was created.',
    )
  }
}
