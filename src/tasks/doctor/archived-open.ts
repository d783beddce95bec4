import { join } from 'node:path'
import { inArchive } from '../archive.ts'
import { archivedNote } from '../archive-tasks.ts'
import type { Places } from '../store/places.ts'
import { readTaskText } from '../store/scan.ts'
import type { Task } from '../task.ts'
import { readNotes } from '../text/read-body.ts'
import type { Check } from './finding.ts'

/** Archived tasks that are not Done, unless they were archived on purpose. A person has to decide. */
export const archivedOpen: Check = {
  find: (places, { tasks, archived }) => {
    // Copies of open tasks have a check of their own.
    const open = new Set(tasks.map(({ id }) => id))
    return archived.tasks
      .filter(({ id, status }) => status !== 'Done' && !open.has(id))
      .filter((task) => !isIntended(places, task))
      .map(({ id, file, status }) => ({
        file: inArchive(places, file),
        problem: `is archived but ${status}, so no agent will start it; run: forge-tasks unarchive ${id}`,
      }))
  },

  fix: () => [],
}

function isIntended({ archive }: Places, { file, status }: Task): boolean {
  const notes = readNotes(readTaskText(join(archive, file)))
  return notes.split('\n').includes(archivedNote(status))
}
