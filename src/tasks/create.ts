import { join } from 'node:path'
import { change, type Draft } from './store/change.ts'
import { checkCriteria, checkLabels, checkTitle } from './text/check-text.ts'
import { readConfig, type TasksConfig } from './store/config.ts'
import { listUndone } from './done.ts'
import { makeFileName } from './file-name.ts'
import { HIGHEST_NUMBER, renderId, type TaskId } from './id.ts'
import { tellFaults, type Fault, type PlaceOf } from './mistakes.ts'
import { renderNewTask, type NewTask } from './text/new-task.ts'
import type { Places } from './store/places.ts'
import { refuseCycles, resolveReferences } from './references.ts'
import { Refused } from './refused.ts'
import { isSealed, makeSeal } from './store/seal.ts'
import { highestOf, makeTaken, type Taken } from './taken.ts'

/** Makes tasks, all or none, and gives their ids in the same order. */
export function createTasks(
  places: Places,
  tasks: readonly NewTask[],
  now: Date,
  placeOf: PlaceOf = (index) => (tasks.length === 1 ? '' : `tasks[${index}]`),
): string[] {
  for (const task of tasks) checkTask(task)
  const config = readConfig(places)
  return change(places, (draft) => {
    const taken = makeTaken(places)
    const ids = takeNumbers(draft, places, taken, config.prefix, tasks.length)
    const { resolved, faults } = resolveReferences(places, tasks, ids, taken, config.prefix)
    // A reference that leads nowhere is reported as that alone.
    const unfinished = findUnfinished(places, resolved, ids).filter(
      ({ index }) => !faults.some((fault) => fault.index === index),
    )
    if (faults.length + unfinished.length > 0) throw tellFaults([...faults, ...unfinished], placeOf)
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

/** Refuses what no new task can have. */
export function checkTask({ title, status, labels = [], criteria = [] }: NewTask): void {
  checkTitle(title)
  checkLabels(labels)
  checkCriteria(criteria)
  if (status === 'Done' && criteria.length > 0) {
    throw new Refused(
      `A task with open acceptance criteria cannot be created as Done: ${title}`,
      'Create it, then check them: forge-tasks edit ID --check-ac 1 --status done',
    )
  }
}

/** What waits for others cannot be created as Done. */
function findUnfinished(
  places: Places,
  tasks: readonly NewTask[],
  ids: readonly TaskId[],
): Fault[] {
  const changed = new Map(
    tasks.map(({ status = 'To Do' }, index) => [renderId(ids[index]!), status]),
  )
  return tasks.flatMap(({ status, title, dependencies = [] }, index) => {
    const undone = status === 'Done' ? listUndone(places, dependencies, changed) : []
    if (undone.length === 0) return []
    const error = new Refused(
      `A task that waits for ${undone.join(', ')} cannot be created as Done: ${title}`,
      'Finish what it waits for first, or create it without --status.',
    )
    return [{ index, error }]
  })
}

function takeNumbers(
  draft: Draft,
  places: Places,
  taken: () => Taken,
  prefix: string,
  count: number,
): TaskId[] {
  const { state } = draft
  const seen = isSealed(places, state, prefix) ? 0 : highestOf(taken(), prefix)
  const highest = Math.max(state.numbers[prefix] ?? 0, seen)
  if (highest + count > HIGHEST_NUMBER) {
    throw new Refused(
      `There is no number left behind ${renderId({ prefix, number: highest })}.`,
      'Take another prefix, in forge/tasks/config.json.',
    )
  }
  draft.state = { ...state, numbers: { ...state.numbers, [prefix]: highest + count } }
  const ids: TaskId[] = []
  for (let number = highest + 1; number <= highest + count; number++) ids.push({ prefix, number })
  return ids
}

/** What is wrong with the keys of tasks and with what they refer to, before they are made. */
export function findFaults(places: Places, tasks: readonly NewTask[]): readonly Fault[] {
  const { prefix } = readConfig(places)
  const ids = tasks.map((_, index) => ({ prefix, number: index }))
  return resolveReferences(places, tasks, ids, makeTaken(places), prefix).faults
}

function withDefaults(task: NewTask, { defaults }: TasksConfig): NewTask {
  return {
    ...task,
    priority: task.priority ?? defaults.priority,
    labels: [...new Set([...(defaults.labels ?? []), ...(task.labels ?? [])])],
  }
}
