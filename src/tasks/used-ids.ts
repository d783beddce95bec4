import { idOfFileName, numberOfFileName } from './file-name.ts'
import { readId, type TaskId } from './id.ts'
import { listFiles } from './store/folder.ts'
import { idInside } from './store/id-inside.ts'
import { readIndexedIds } from './store/index-file.ts'
import type { Places } from './store/places.ts'
import { scanTasks, worthWriting } from './store/scan.ts'

/** Ids in use, by file name and by file content. */
export interface UsedIds {
  readonly names: readonly string[]
  readonly inside: readonly TaskId[]
}

/** Lazy, because most calls do not need it. */
export function makeUsedIds(places: Places): () => UsedIds {
  let taken: UsedIds | undefined
  return () => (taken ??= findUsedIds(places))
}

function findUsedIds(places: Places): UsedIds {
  const [open, archived] = [listFiles(places.tasks), listFiles(places.archive)]
  // The archive has no index, so an id in a file name is trusted.
  const unnamed = archived.filter((file) => idOfFileName(file) === undefined)
  return {
    names: [...open, ...archived],
    inside: [
      ...idsInside(places, open),
      ...unnamed.flatMap((file) => idInside(places.archive, file) ?? []),
    ],
  }
}

/** The index has nearly all ids, so few files have to be opened. */
function idsInside(places: Places, files: readonly string[]): TaskId[] {
  const { ids, unknown } = readIndexedIds(places, files)
  if (unknown.length >= worthWriting(files.length)) {
    return scanTasks(places).tasks.flatMap(({ id }) => readId(id) ?? [])
  }
  const read = unknown.flatMap((file) => idInside(places.tasks, file) ?? [])
  return [...ids.flatMap((id) => readId(id) ?? []), ...read]
}

export function isUsed({ names, inside }: UsedIds, { prefix, number }: TaskId): boolean {
  return (
    names.some((name) => numberOfFileName(name, prefix) === number) ||
    inside.some((id) => id.prefix === prefix && id.number === number)
  )
}

export function highestOf({ names, inside }: UsedIds, prefix: string): number {
  let highest = 0
  for (const name of names) highest = Math.max(highest, numberOfFileName(name, prefix) ?? 0)
  for (const id of inside) if (id.prefix === prefix) highest = Math.max(highest, id.number)
  return highest
}
