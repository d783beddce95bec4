import { join } from 'node:path'
import { inArchive } from '../archive.ts'
import { archivedNote } from '../shelve.ts'
import type { Places } from '../store/places.ts'
import { readTaskText } from '../store/scan.ts'
import type { Task } from '../task.ts'
import { readNotes } from '../text/read-body.ts'
import type { Ailment } from './finding.ts'

/** Archived tasks that are not done, unless they were archived so: what becomes of them a person decides. */
export const archivedOpen: Ailment = {
  find: (places, { tasks, archived }) => {
    // A copy of an open task is another matter.
    const open = new Set(tasks.map(({ id }) => id))
    return archived.tasks
      .filter(({ id, status }) => status !== 'Done' && !open.has(id))
      .filter((task) => !isIntended(places, task))
      .map(({ id, file, status }) => ({
        file: inArchive(places, file),
        problem: `is archived, but ${status}, so nobody will begin it; run: forge-tasks unarchive ${id}`,
      }))
  },

  mend: () => [],
}

function isIntended({ archive }: Places, { file, status }: Task): boolean {
  const notes = readNotes(readTaskText(join(archive, file)))
  return notes.split('\n').includes(archivedNote(status))
}
