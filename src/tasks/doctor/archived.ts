import { join } from 'node:path'
import { statOf } from '../../base/files.ts'
import { inArchive, isArchived } from '../archive.ts'
import { archivedNote } from '../archive-tasks.ts'
import type { TaskFolders } from '../folders.ts'
import { readTaskText } from '../store/scan.ts'
import type { Task } from '../task.ts'
import { readNotes } from '../text/read-body.ts'
import { allTasks, makeCheck, fileNameOf, type TaskCheck, type LocatedTask } from './check.ts'

/** Tasks that are both open and archived. The fix removes archived copies that are identical. */
export const archivedCopies = makeCheck((folders) =>
  copiesIn(allTasks(folders), folders).map(({ open, archived }) => {
    const isIdentical = readTaskText(open.path) === readTaskText(archived.path)
    // If one is a link to the other, removing it could remove both.
    const isOneFile = statOf(open.path)?.ino === statOf(archived.path)?.ino
    const name = `"${open.task.file}"`
    const problem = isIdentical
      ? `is identical to the open task ${name}`
      : `is the same task as the open ${name}, but the content differs: compare the two and delete one`
    const mended = 'removed the copy in the archive'
    return {
      findings: [{ file: fileNameOf(archived, folders), problem, mended }],
      fix: isIdentical && !isOneFile ? ({ draft }) => draft.remove(archived.path) : undefined,
    }
  }),
)

interface Copy {
  readonly open: LocatedTask
  readonly archived: LocatedTask
}

export function copiesIn(all: readonly LocatedTask[], folders: TaskFolders): Copy[] {
  return [...Map.groupBy(all, ({ task }) => task.id).values()].flatMap((group) => {
    const { open = [], archived = [] } = Object.groupBy(group, (each) =>
      isArchived(each, folders) ? 'archived' : 'open',
    )
    return archived.flatMap((each) => {
      const same = open.find((other) => isSameTask(each, other))
      return same === undefined ? [] : [{ open: same, archived: each }]
    })
  })
}

/** Two clones may assign the same id, but not at the same moment. */
function isSameTask({ task: a }: LocatedTask, { task: b }: LocatedTask): boolean {
  return a.createdAt === b.createdAt && (a.createdAt !== '' || a.title === b.title)
}

/** Archived tasks that are not Done, unless they were archived on purpose. A person has to decide. */
export const archivedOpen: TaskCheck = {
  find: (folders, { tasks, archived }) => {
    // Copies of open tasks have a separate check.
    const open = new Set(tasks.map(({ id }) => id))
    return archived.tasks
      .filter(({ id, status }) => status !== 'Done' && !open.has(id))
      .filter((task) => !isIntended(folders, task))
      .map(({ id, file, status }) => ({
        file: inArchive(folders, file),
        problem: `is archived but ${status}, so no agent will start it; run: forge-tasks unarchive ${id}`,
      }))
  },
}

function isIntended({ archive }: TaskFolders, { file, status }: Task): boolean {
  const notes = readNotes(readTaskText(join(archive, file)))
  return notes.split('\n').includes(archivedNote(status))
}
