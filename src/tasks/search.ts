import { join } from 'node:path'
import { readTextFile } from '../base/files.ts'
import { listTasks, type Listing } from './list.ts'
import type { Places } from './store/places.ts'
import { TASK_LIMIT_BYTES } from './store/scan.ts'

/** The tasks in which all words occur, in any case, anywhere in the file. */
export function searchTasks(places: Places, words: readonly string[]): Listing {
  const wanted = words.map((word) => word.toLowerCase())
  const { tasks, broken } = listTasks(places)
  const found = tasks.filter(({ file }) => {
    const read = readTextFile(join(places.tasks, file), TASK_LIMIT_BYTES)
    const text = read.kind === 'text' ? read.text.toLowerCase() : ''
    return wanted.every((word) => text.includes(word))
  })
  return { tasks: found, broken }
}
