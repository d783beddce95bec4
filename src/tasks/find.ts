import { join } from 'node:path'
import { UserError } from '../base/errors.ts'
import { Archive } from './archive.ts'
import { BrokenFile } from './text/frontmatter.ts'
import { readConfig } from './store/config.ts'
import { parseId, readId, renderId, type TaskId } from './id.ts'
import type { Places } from './store/places.ts'
import { listFiles } from './store/folder.ts'
import { readTaskText, scanTasks } from './store/scan.ts'
import { byAge, parseTask, type Task } from './task.ts'

/** A task with the whole text of its file. */
export interface TaskText {
  readonly task: Task
  readonly text: string
  readonly path: string
}

export class NotFound extends UserError {
  override readonly exitCode = 1
}

/** A file that is there and cannot be used. */
export class Unusable extends NotFound {}

/** The id that a person means by `TASK-1`, `task-001` or `1`; only the last one needs the configuration. */
export function resolveId(places: Places, word: string): TaskId {
  return readId(word) ?? parseId(word, readConfig(places).prefix)
}

/** The task that a person means; archived ones are found too. */
export function findTask(places: Places, word: string): TaskText {
  const id = resolveId(places, word)
  const open = findNamed(places.tasks, id)
  if (open.sound.length === 1) return open.sound[0]!
  const listed = findListed(places, id)
  if (listed !== undefined) return listed
  if (open.unusable !== undefined) throw open.unusable
  const archived = findNamed(places.archive, id)
  const [oldest] = archived.sound.toSorted((a, b) => byAge(a.task, b.task))
  if (oldest !== undefined) return oldest
  if (archived.unusable !== undefined) throw archived.unusable
  const renamed = new Archive(places).fileOf(renderId(id))
  if (renamed !== undefined) return readOrRefuse(places.archive, renamed)
  throw missing(places, id)
}

/** Whether there is such a task; one whose file cannot be read may be. */
export function hasTask(places: Places, id: string): boolean {
  try {
    findTask(places, id)
    return true
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return !(error instanceof NotFound) || error instanceof Unusable
  }
}

interface Named {
  readonly sound: readonly TaskText[]
  readonly unusable: Unusable | undefined
}

/** By the name of the file, so that the other files need not be read. */
function findNamed(folder: string, id: TaskId): Named {
  const wanted = renderId(id)
  const name = new RegExp(`^${id.prefix}-0*${id.number}(?: - .*)?\\.md$`, 'i')
  const sound: TaskText[] = []
  let unusable: Unusable | undefined
  for (const file of listFiles(folder).filter((each) => name.test(each))) {
    try {
      const found = readOrRefuse(folder, file)
      if (found.task.id === wanted) sound.push(found)
    } catch (error) {
      if (!(error instanceof Unusable)) throw error
      unusable = error
    }
  }
  return { sound, unusable }
}

/** Throws where the file cannot be used, with the line of what is wrong. */
export function readOrRefuse(folder: string, file: string): TaskText {
  const path = join(folder, file)
  try {
    const text = readTaskText(path)
    return { task: parseTask(text, file), text, path }
  } catch (error) {
    if (!(error instanceof BrokenFile)) throw error
    throw new Unusable(
      `${file}:${error.line}: ${error.message}`,
      'Mend the file, or see: forge-tasks doctor',
    )
  }
}

/** A file that was renamed by hand still has its id inside; of several it is the one that is listed. */
function findListed(places: Places, id: TaskId): TaskText | undefined {
  const task = scanTasks(places).tasks.find((each) => each.id === renderId(id))
  if (task === undefined) return undefined
  return readOrRefuse(places.tasks, task.file)
}

/** Says which ones are near it. */
export function missing(
  places: Places,
  id: TaskId,
  tasks: readonly Task[] = scanTasks(places).tasks,
): UserError {
  const near = tasks
    .map((task) => ({ task, distance: Math.abs(Number(task.id.split('-')[1]) - id.number) }))
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ task }) => `  ${task.id}  ${task.title}`)
  return new NotFound(
    `There is no task ${renderId(id)}.`,
    near.length === 0 ? 'There are no tasks yet.' : `Near it:\n${near.join('\n')}`,
  )
}
