import { dirname, join } from 'node:path'
import { inArchive } from '../archive.ts'
import { listFiles } from '../store/folder.ts'
import type { Places } from '../store/places.ts'
import { readTaskFile } from '../store/scan.ts'
import type { Task } from '../task.ts'

export interface LocatedTask {
  readonly task: Task
  readonly path: string
}

/** All readable tasks, open ones first. */
export function allTasks({ tasks, archive }: Places): LocatedTask[] {
  return [tasks, archive].flatMap((folder) =>
    listFiles(folder).flatMap((file) => {
      const path = join(folder, file)
      const task = readTaskFile(path, file)
      return 'problem' in task ? [] : [{ task, path }]
    }),
  )
}

export function isArchived({ path }: LocatedTask, { tasks }: Places): boolean {
  return dirname(path) !== tasks
}

/** The file name relative to the folder of the tasks. */
export function nameOf(placed: LocatedTask, places: Places): string {
  const { file } = placed.task
  return isArchived(placed, places) ? inArchive(places, file) : file
}
