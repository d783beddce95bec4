import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { statOf } from '../base/files.ts'
import { change } from './store/change.ts'
import { readConfig } from './store/config.ts'
import { findTask } from './find.ts'
import { readId } from './id.ts'
import type { Places } from './store/places.ts'
import { Refused } from './refused.ts'
import { scanTasks } from './store/scan.ts'

/** Moves tasks to the archive; what depends on them still finds them there. */
export function archiveTasks(places: Places, words: readonly string[] | 'done'): string[] {
  const { prefix } = readConfig(places)
  return change(places, (draft) => {
    const tasks =
      words === 'done'
        ? scanTasks(places).tasks.filter((task) => task.status === 'Done')
        : [
            ...new Map(
              words
                .map((word) => findTask(places, word, prefix).task)
                .map((task) => [task.id, task]),
            ).values(),
          ]
    const open = tasks.filter(({ file }) => statOf(join(places.tasks, file)) !== undefined)
    for (const { file, id } of open) {
      if (statOf(join(places.archive, file)) === undefined) continue
      throw new Refused(
        `The archive has a file "${file}" already, so ${id} stays.`,
        'Rename one of the two.',
      )
    }
    mkdirSync(places.archive, { recursive: true })
    for (const { file } of open) draft.move(join(places.tasks, file), join(places.archive, file))
    return open.map(({ id }) => id)
  })
}

/** Deletes a task that nothing depends on. Its number is not given again. */
export function deleteTask(places: Places, word: string, force: boolean): string {
  const { prefix } = readConfig(places)
  return change(places, (draft) => {
    const { task, path } = findTask(places, word, prefix)
    const waiting = scanTasks(places).tasks.filter((each) => each.dependencies.includes(task.id))
    if (waiting.length > 0 && !force) {
      const ids = waiting.map(({ id }) => id).join(', ')
      throw new Refused(
        `${task.id} is waited for by ${ids}.`,
        'Remove the dependency first, or use --force.',
      )
    }
    const { state } = draft
    const { [task.id]: _, ...claims } = state.claims
    const { prefix: own, number } = readId(task.id)!
    const numbers = { ...state.numbers, [own]: Math.max(state.numbers[own] ?? 0, number) }
    draft.state = { ...state, claims, numbers }
    draft.remove(path)
    return task.id
  })
}
