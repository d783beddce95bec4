import { dirname, join } from 'node:path'
import { inArchive } from '../archive.ts'
import { listFiles } from '../store/folder.ts'
import type { Places } from '../store/places.ts'
import { readTaskFile } from '../store/scan.ts'
import type { Task } from '../task.ts'

/** A task together with where it lies: open or in the archive. */
export interface Placed {
  readonly task: Task
  readonly path: string
}

/** All that can be used, the open ones first. */
export function allTasks({ tasks, archive }: Places): Placed[] {
  return [tasks, archive].flatMap((folder) =>
    listFiles(folder).flatMap((file) => {
      const path = join(folder, file)
      const task = readTaskFile(path, file)
      return 'problem' in task ? [] : [{ task, path }]
    }),
  )
}

export function isArchived({ path }: Placed, { tasks }: Places): boolean {
  return dirname(path) !== tasks
}

/** The name of its file, below the folder of the tasks. */
export function nameOf(placed: Placed, places: Places): string {
  const { file } = placed.task
  return isArchived(placed, places) ? inArchive(places, file) : file
}
