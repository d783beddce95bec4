import { idOfFileName } from './file-name.ts'
import { readId } from './id.ts'
import { listFiles } from './store/folder.ts'
import type { TaskFolders } from './folders.ts'
import { idInside, scanTasks } from './store/scan.ts'

/** The ids in use, by file name and by file content. */
export function findUsedIds(folders: TaskFolders): Set<string> {
  const archived = listFiles(folders.archive)
  const { tasks, broken } = scanTasks(folders)
  const ids = [
    ...tasks.map(({ id }) => id),
    ...[...listFiles(folders.tasks), ...archived].map(idOfFileName),
    ...broken.map(({ file }) => idInside(folders.tasks, file)),
    // The archive has no index, so an id in a file name is trusted.
    ...archived
      .filter((file) => idOfFileName(file) === undefined)
      .map((file) => idInside(folders.archive, file)),
  ]
  return new Set(ids.filter((id) => id !== undefined))
}

export function highestOf(used: Iterable<string>, prefix: string): number {
  let highest = 0
  for (const text of used) {
    const id = readId(text)
    if (id?.prefix === prefix) highest = Math.max(highest, id.number)
  }
  return highest
}
