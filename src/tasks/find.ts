import { join } from 'node:path'
import { UserError } from '../base/errors.ts'
import { BrokenFile } from './text/frontmatter.ts'
import { parseId, renderId, type TaskId } from './id.ts'
import type { Places } from './store/places.ts'
import { listFiles, readTaskText, scanTasks } from './store/scan.ts'
import { parseTask, type Task } from './task.ts'

/** A task with the whole text of its file. */
export interface TaskText {
  readonly task: Task
  readonly text: string
  readonly path: string
}

class NotFound extends UserError {
  override readonly exitCode = 1
}

/** The task that a person means by `TASK-1`, `task-001` or `1`; archived ones are found too. */
export function findTask(places: Places, word: string, prefix: string): TaskText {
  const id = parseId(word, prefix)
  return (
    findIn(places.tasks, id) ??
    findMisnamed(places, id) ??
    findIn(places.archive, id) ??
    missing(places, id)
  )
}

/** By the name of the file, so that the other files need not be read. */
function findIn(folder: string, id: TaskId): TaskText | undefined {
  const wanted = renderId(id)
  const name = new RegExp(`^${id.prefix}-0*${id.number}(?: - .*)?\\.md$`, 'i')
  const found = listFiles(folder)
    .filter((file) => name.test(file))
    .map((file) => readOrRefuse(folder, file))
    .filter(({ task }) => task.id === wanted)
  if (found.length < 2) return found[0]
  const names = found.map(({ task }) => `  ${task.file}`).join('\n')
  throw new NotFound(
    `Several files have the id ${wanted}:\n${names}`,
    'Run: forge-tasks doctor --fix',
  )
}

/** Throws where the file cannot be used, with the line of what is wrong. */
export function readOrRefuse(folder: string, file: string): TaskText {
  const path = join(folder, file)
  try {
    const text = readTaskText(path)
    return { task: parseTask(text, file), text, path }
  } catch (error) {
    if (!(error instanceof BrokenFile)) throw error
    throw new NotFound(
      `${file}:${error.line}: ${error.message}`,
      'Mend the file, or see: forge-tasks doctor',
    )
  }
}

/** A file that was renamed by hand still has its id inside. */
function findMisnamed(places: Places, id: TaskId): TaskText | undefined {
  const task = scanTasks(places).tasks.find((each) => each.id === renderId(id))
  if (task === undefined) return undefined
  return readOrRefuse(places.tasks, task.file)
}

function missing(places: Places, id: TaskId): never {
  const { tasks } = scanTasks(places)
  const near = tasks
    .map((task) => ({ task, distance: Math.abs(Number(task.id.split('-')[1]) - id.number) }))
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ task }) => `  ${task.id}  ${task.title}`)
  throw new NotFound(
    `There is no task ${renderId(id)}.`,
    near.length === 0 ? 'There are no tasks yet.' : `Near it:\n${near.join('\n')}`,
  )
}
