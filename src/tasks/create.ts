import { join } from 'node:path'
import { change, type Draft } from './store/change.ts'
import { checkCriteria, checkLabels, checkTitle } from './text/check-text.ts'
import { readConfig, type TasksConfig } from './store/config.ts'
import { listUndone } from './done.ts'
import { makeFileName } from './file-name.ts'
import { HIGHEST_NUMBER, renderId, type TaskId } from './id.ts'
import { makeBatchError, type TaskMistake, type DescribePosition } from './batch-error.ts'
import { renderNewTask, type NewTask } from './text/new-task.ts'
import type { Places } from './store/places.ts'
import { refuseCycles, resolveReferences } from './references.ts'
import { Refused } from './refused.ts'
import { isSealed, makeSeal } from './store/seal.ts'
import { highestOf, makeUsedIds, type UsedIds } from './used-ids.ts'

/** Creates all tasks or none; returns their ids in the same order. */
export function createTasks(
  places: Places,
  tasks: readonly NewTask[],
  now: Date,
  placeOf: DescribePosition = (index) => (tasks.length === 1 ? '' : `tasks[${index}]`),
): string[] {
  for (const task of tasks) checkTask(task)
  const config = readConfig(places)
  return change(places, (draft) => {
    const taken = makeUsedIds(places)
    const ids = takeNumbers(draft, places, taken, config.prefix, tasks.length)
    const { resolved, faults } = resolveReferences(places, tasks, ids, taken, config.prefix)
    // A task with a bad reference gets one error, not two.
    const unfinished = findUnfinished(places, resolved, ids).filter(
      ({ index }) => !faults.some((fault) => fault.index === index),
    )
    if (faults.length + unfinished.length > 0)
      throw makeBatchError([...faults, ...unfinished], placeOf)
    refuseCycles(ids.map(renderId), resolved)
    const complete = resolved.map((task) => withDefaults(task, config))
    for (const [index, task] of complete.entries()) {
      const id = ids[index]!
      draft.write(join(places.tasks, makeFileName(id, task.title)), renderNewTask(id, task, now))
    }
    const seal = makeSeal(places, config.prefix, now.getTime())
    if (seal !== undefined) draft.seal(seal)
    return ids.map(renderId)
  })
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

/** A task with open dependencies cannot be created as Done. */
function findUnfinished(
  places: Places,
  tasks: readonly NewTask[],
  ids: readonly TaskId[],
): TaskMistake[] {
  const changed = new Map(
    tasks.map(({ status = 'To Do' }, index) => [renderId(ids[index]!), status]),
  )
  return tasks.flatMap(({ status, title, dependencies = [] }, index) => {
    const undone = status === 'Done' ? listUndone(places, dependencies, changed) : []
    if (undone.length === 0) return []
    const error = new Refused(
      `A task that depends on ${undone.join(', ')} cannot be created as Done: ${title}`,
      'Finish its dependencies first, or create it without --status.',
    )
    return [{ index, error }]
  })
}

function takeNumbers(
  draft: Draft,
  places: Places,
  taken: () => UsedIds,
  prefix: string,
  count: number,
): TaskId[] {
  const { state } = draft
  const seen = isSealed(places, state, prefix) ? 0 : highestOf(taken(), prefix)
  const highest = Math.max(state.numbers[prefix] ?? 0, seen)
  if (highest + count > HIGHEST_NUMBER) {
    throw new Refused(
      `No ids are left after ${renderId({ prefix, number: highest })}.`,
      'Set another prefix in forge/tasks/config.json.',
    )
  }
  draft.state = { ...state, numbers: { ...state.numbers, [prefix]: highest + count } }
  const ids: TaskId[] = []
  for (let number = highest + 1; number <= highest + count; number++) ids.push({ prefix, number })
  return ids
}

/** Checks keys and references without creating anything. */
export function findMistakes(places: Places, tasks: readonly NewTask[]): readonly TaskMistake[] {
  const { prefix } = readConfig(places)
  const ids = tasks.map((_, index) => ({ prefix, number: index }))
  return resolveReferences(places, tasks, ids, makeUsedIds(places), prefix).faults
}

function withDefaults(task: NewTask, { defaults }: TasksConfig): NewTask {
  return {
    ...task,
    priority: task.priority ?? defaults.priority,
    labels: [...new Set([...(defaults.labels ?? []), ...(task.labels ?? [])])],
  }
}
