import { idOfFileName } from './file-name.ts'
import { readId, renderId } from './id.ts'
import { listFiles } from './store/folder.ts'
import { readIndexedIds } from './store/index-file.ts'
import type { TaskFolders } from './folders.ts'
import { idInside, scanTasks, WORTH_WRITING } from './store/scan.ts'

/** The ids in use, by file name and by file content. */
export function findUsedIds(folders: TaskFolders): Set<string> {
  const [open, archived] = [listFiles(folders.tasks), listFiles(folders.archive)]
  const ids = [
    ...[...open, ...archived].map(idOfFileName),
    // The archive has no index, so an id in a file name is trusted.
    ...archived
      .filter((file) => idOfFileName(file) === undefined)
      .map((file) => idInside(folders.archive, file)),
  ]
  return new Set([...ids.flatMap((id) => (id ? renderId(id) : [])), ...idsInside(folders, open)])
}

/** Does not check whether indexed files have changed, because a file rarely gets another id. */
function idsInside(folders: TaskFolders, files: readonly string[]): string[] {
  const known = readIndexedIds(folders)
  // The scan writes the index.
  if (files.filter((file) => !known.has(file)).length >= WORTH_WRITING) {
    for (const { file, id } of scanTasks(folders).tasks) known.set(file, id)
  }
  return files.flatMap((file) => {
    const id = known.get(file) ?? idInside(folders.tasks, file)
    return typeof id === 'object' ? renderId(id) : (id ?? [])
  })
}

export function highestOf(used: Iterable<string>, prefix: string): number {
  let highest = 0
  for (const text of used) {
    const id = readId(text)
    if (id?.prefix === prefix) highest = Math.max(highest, id.number)
  }
  return highest
}
