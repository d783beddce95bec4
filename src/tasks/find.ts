import { join } from 'node:path'
import { UserError } from '../base/errors.ts'
import { idOfFileName } from './file-name.ts'
import { parseId, renderId, type TaskId } from './id.ts'
import type { Places } from './places.ts'
import { listFiles, readTaskFile, readTaskText, scanTasks } from './scan.ts'
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
  const files = listFiles(folder).filter((file) => {
    const named = idOfFileName(file)
    return named !== undefined && renderId(named) === wanted
  })
  const found = files.flatMap((file) => {
    const path = join(folder, file)
    const task = readTaskFile(path, file)
    if ('problem' in task) {
      throw new NotFound(
        `${file}:${task.line}: ${task.problem}`,
        'Mend the file, or see: forge-tasks doctor',
      )
    }
    return task.id === wanted ? [{ task, text: readTaskText(path), path }] : []
  })
  if (found.length < 2) return found[0]
  const names = found.map(({ task }) => `  ${task.file}`).join('\n')
  throw new NotFound(
    `Several files have the id ${wanted}:\n${names}`,
    'Run: forge-tasks doctor --fix',
  )
}

/** A file that was renamed by hand still has its id inside. */
function findMisnamed(places: Places, id: TaskId): TaskText | undefined {
  const task = scanTasks(places).tasks.find((each) => each.id === renderId(id))
  if (task === undefined) return undefined
  const path = join(places.tasks, task.file)
  const text = readTaskText(path)
  return { task: parseTask(text, task.file), text, path }
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
