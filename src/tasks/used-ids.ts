import { idOfFileName } from './file-name.ts'
import { readId, renderId } from './id.ts'
import { listFiles } from './store/folder.ts'
import { readIndexedIds } from './store/index-file.ts'
import type { Places } from './store/places.ts'
import { idInside, scanTasks, WORTH_WRITING } from './store/scan.ts'

/** The ids in use, by file name and by file content. */
export function findUsedIds(places: Places): Set<string> {
  const [open, archived] = [listFiles(places.tasks), listFiles(places.archive)]
  const ids = [
    ...[...open, ...archived].map(idOfFileName),
    // The archive has no index, so an id in a file name is trusted.
    ...archived
      .filter((file) => idOfFileName(file) === undefined)
      .map((file) => idInside(places.archive, file)),
  ]
  return new Set([...ids.flatMap((id) => (id ? renderId(id) : [])), ...idsInside(places, open)])
}

/** Does not check whether indexed files have changed, because a file rarely gets another id. */
function idsInside(places: Places, files: readonly string[]): string[] {
  const known = readIndexedIds(places)
  // The scan writes the index.
  if (files.filter((file) => !known.has(file)).length >= WORTH_WRITING) {
    for (const { file, id } of scanTasks(places).tasks) known.set(file, id)
  }
  return files.flatMap((file) => {
    const id = known.get(file) ?? idInside(places.tasks, file)
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
