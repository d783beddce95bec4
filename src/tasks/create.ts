import { join } from 'node:path'
import { change } from './store/change.ts'
import { checkCriteria, checkTitle } from './text/check-text.ts'
import { readConfig, type TasksConfig } from './store/config.ts'
import { missing } from './find.ts'
import { findCycles } from './cycles.ts'
import { idOfFileName, makeFileName, numberOfFileName } from './file-name.ts'
import { HIGHEST_NUMBER, parseId, readId, renderId, type TaskId } from './id.ts'
import { renderNewTask, type NewTask } from './text/new-task.ts'
import type { Places } from './store/places.ts'
import { parentsOf } from './ready.ts'
import { Refused } from './refused.ts'
import { idInside } from './store/id-inside.ts'
import { readIndexedIds } from './store/index-file.ts'
import { isSealed, makeSeal } from './store/seal.ts'
import { listFiles } from './store/folder.ts'
import { scanTasks, worthWriting } from './store/scan.ts'
import type { Draft } from './store/change.ts'

/** Makes tasks, all or none, and gives their ids in the same order. */
export function createTasks(places: Places, tasks: readonly NewTask[], now: Date): string[] {
  for (const task of tasks) checkTask(task)
  const config = readConfig(places)
  return change(places, (draft) => {
    const taken = makeTaken(places)
    const ids = takeNumbers(draft, places, taken, config.prefix, tasks.length)
    const resolve = makeResolver(places, tasks, ids, taken, config.prefix)
    const complete = tasks.map((task) => withDefaults(task, config, resolve))
    refuseCycles(ids.map(renderId), complete)
    for (const [index, task] of complete.entries()) {
      const id = ids[index]!
      draft.write(join(places.tasks, makeFileName(id, task.title)), renderNewTask(id, task, now))
    }
    const seal = makeSeal(places, config.prefix, now.getTime())
    if (seal !== undefined) draft.seal(seal)
    return ids.map(renderId)
  })
}

/** Refuses what no task can begin with. */
export function checkTask({ title, status, criteria = [] }: NewTask): void {
  checkTitle(title)
  checkCriteria(criteria)
  if (status === 'Done' && criteria.length > 0) {
    throw new Refused(
      `A task with open acceptance criteria cannot begin as Done: ${title}`,
      'Create it, then check them: forge-tasks edit ID --check-ac 1 --status done',
    )
  }
}

/** What is in use, by the names of the files and by what is inside of them. */
interface Taken {
  readonly names: readonly string[]
  readonly inside: readonly TaskId[]
}

/** Looked up where it is needed, which is mostly not at all. */
function makeTaken(places: Places): () => Taken {
  let taken: Taken | undefined
  return () => (taken ??= findTaken(places))
}

function findTaken(places: Places): Taken {
  const [open, archived] = [listFiles(places.tasks), listFiles(places.archive)]
  // The archive has no index: there a name is believed.
  const unnamed = archived.filter((file) => idOfFileName(file) === undefined)
  return {
    names: [...open, ...archived],
    inside: [
      ...idsInside(places, open),
      ...unnamed.flatMap((file) => idInside(places.archive, file) ?? []),
    ],
  }
}

/** The index knows nearly all of them, so that few files have to be opened. */
function idsInside(places: Places, files: readonly string[]): TaskId[] {
  const { ids, unknown } = readIndexedIds(places, files)
  if (unknown.length >= worthWriting(files.length)) {
    return scanTasks(places).tasks.flatMap(({ id }) => readId(id) ?? [])
  }
  const read = unknown.flatMap((file) => idInside(places.tasks, file) ?? [])
  return [...ids.flatMap((id) => readId(id) ?? []), ...read]
}

function isTaken({ names, inside }: Taken, { prefix, number }: TaskId): boolean {
  return (
    names.some((name) => numberOfFileName(name, prefix) === number) ||
    inside.some((id) => id.prefix === prefix && id.number === number)
  )
}

function highestOf({ names, inside }: Taken, prefix: string): number {
  let highest = 0
  for (const name of names) highest = Math.max(highest, numberOfFileName(name, prefix) ?? 0)
  for (const id of inside) if (id.prefix === prefix) highest = Math.max(highest, id.number)
  return highest
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

/** `@key` is another task of the same batch; everything else is the id of a task that is there. */
function makeResolver(
  places: Places,
  tasks: readonly NewTask[],
  ids: readonly TaskId[],
  taken: () => Taken,
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
    if (isTaken(taken(), id)) return renderId(id)
    throw missing(places, id)
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
  const parents = new Map(ids.map((id, index) => [id, parentsOf(tasks[index])]))
  const [parts] = findCycles(ids, (id) => parents.get(id) ?? [])
  if (parts !== undefined) {
    throw new Refused(
      `These tasks would be parts of each other: ${parts.join(' -> ')}`,
      'Leave one of these parents out. Nothing was created.',
    )
  }
}
