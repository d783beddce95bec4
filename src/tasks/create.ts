import { join } from 'node:path'
import { change } from './store/change.ts'
import { checkCriteria, checkTitle } from './text/check-text.ts'
import { readConfig, type TasksConfig } from './store/config.ts'
import { findCycles } from './cycles.ts'
import { idOfFileName, makeFileName } from './file-name.ts'
import { parseId, readId, renderId, type TaskId } from './id.ts'
import { renderNewTask, type NewTask } from './text/new-task.ts'
import type { Places } from './store/places.ts'
import { Refused } from './refused.ts'
import { listFiles, readTaskFile } from './store/scan.ts'
import type { Draft } from './store/change.ts'

/** Makes tasks, all or none, and gives their ids in the same order. */
export function createTasks(places: Places, tasks: readonly NewTask[], now: Date): string[] {
  for (const task of tasks) checkTask(task)
  const config = readConfig(places)
  return change(places, (draft) => {
    const taken = idsIn(places)
    const ids = takeNumbers(draft, taken, config.prefix, tasks.length)
    const resolve = makeResolver(tasks, ids, taken, config.prefix)
    const complete = tasks.map((task) => withDefaults(task, config, resolve))
    refuseCycles(ids.map(renderId), complete)
    for (const [index, task] of complete.entries()) {
      const id = ids[index]!
      draft.write(join(places.tasks, makeFileName(id, task.title)), renderNewTask(id, task, now))
    }
    return ids.map(renderId)
  })
}

function checkTask({ title, status, criteria = [] }: NewTask): void {
  checkTitle(title)
  checkCriteria(criteria)
  if (status === 'Done' && criteria.length > 0) {
    throw new Refused(
      `A task with open acceptance criteria cannot begin as Done: ${title}`,
      'Create it, then check them: forge-tasks edit ID --check-ac 1 --status done',
    )
  }
}

/** Every id that is in use, by the names of the files; only a file of another name is opened. */
function idsIn(places: Places): TaskId[] {
  return [places.tasks, places.archive].flatMap((folder) =>
    listFiles(folder).flatMap((file) => idOfFileName(file) ?? idInside(join(folder, file), file)),
  )
}

function idInside(path: string, file: string): TaskId[] {
  const task = readTaskFile(path, file)
  const id = 'problem' in task ? undefined : readId(task.id)
  return id === undefined ? [] : [id]
}

function takeNumbers(
  draft: Draft,
  taken: readonly TaskId[],
  prefix: string,
  count: number,
): TaskId[] {
  const { state } = draft
  let highest = state.numbers[prefix] ?? 0
  for (const id of taken) if (id.prefix === prefix && id.number > highest) highest = id.number
  draft.state = { ...state, numbers: { ...state.numbers, [prefix]: highest + count } }
  return Array.from({ length: count }, (_, index) => ({ prefix, number: highest + index + 1 }))
}

/** `@key` is another task of the same batch; everything else is the id of a task that is there. */
function makeResolver(
  tasks: readonly NewTask[],
  ids: readonly TaskId[],
  taken: readonly TaskId[],
  prefix: string,
): (word: string) => string {
  const keys = new Map<string, string>()
  for (const [index, { key }] of tasks.entries()) {
    if (key === undefined) continue
    if (keys.has(key)) throw new Refused(`The key '${key}' is there twice.`)
    keys.set(key, renderId(ids[index]!))
  }
  return (word) => {
    if (word.startsWith('@')) {
      const id = keys.get(word.slice(1))
      if (id !== undefined) return id
      throw new Refused(`No task of this batch has the key '${word.slice(1)}'.`)
    }
    const id = parseId(word, prefix)
    const isThere = taken.some((each) => each.number === id.number && each.prefix === id.prefix)
    if (isThere) return renderId(id)
    throw new Refused(`There is no task ${renderId(id)}.`, 'Create it first, or leave it out.')
  }
}

function withDefaults(
  task: NewTask,
  { defaults }: TasksConfig,
  resolve: (word: string) => string,
): NewTask {
  return {
    ...task,
    priority: task.priority ?? defaults.priority,
    labels: [...new Set([...(defaults.labels ?? []), ...(task.labels ?? [])])],
    dependencies: [...new Set((task.dependencies ?? []).map(resolve))],
    parent: task.parent === undefined ? undefined : resolve(task.parent),
  }
}

/** Only a batch can close a circle: nothing that was there before depends on what is new. */
function refuseCycles(ids: readonly string[], tasks: readonly NewTask[]): void {
  const edges = new Map(ids.map((id, index) => [id, tasks[index]?.dependencies ?? []]))
  const [cycle] = findCycles(ids, (id) => edges.get(id) ?? [])
  if (cycle !== undefined) {
    throw new Refused(
      `These tasks would wait for each other: ${cycle.join(' -> ')}`,
      'Leave one of these dependencies out. Nothing was created.',
    )
  }
}
