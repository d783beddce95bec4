import { join } from 'node:path'
import { inArchive } from '../archive.ts'
import { listFiles } from '../store/folder.ts'
import type { Places } from '../store/places.ts'
import { isTaskFile, readTaskFile, type Broken, type Scan } from '../store/scan.ts'
import type { Task } from '../task.ts'

/** All files of the archive, each read: there is no index of them. */
export function scanArchive(places: Places): Scan {
  const tasks: Task[] = []
  const broken: Broken[] = []
  for (const file of listFiles(places.archive)) {
    const path = join(places.archive, file)
    const task = readTaskFile(path, file)
    if (!('problem' in task)) tasks.push(task)
    else if (isTaskFile(path, file)) broken.push({ ...task, file: inArchive(places, file) })
  }
  return { tasks, broken }
}
