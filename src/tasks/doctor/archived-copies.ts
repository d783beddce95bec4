import { statOf } from '../../base/files.ts'
import type { Places } from '../store/places.ts'
import { readTaskText } from '../store/scan.ts'
import type { Check } from './finding.ts'
import { allTasks, isArchived, nameOf, type LocatedTask } from './located-task.ts'

/** Tasks that are both open and archived. The fix removes archived copies that are identical. */
export const archivedCopies: Check = {
  find: (places) =>
    copiesIn(allTasks(places), places).map((copy) => ({
      file: nameOf(copy.archived, places),
      problem: problemOf(copy),
    })),

  fix: (places, _database, { draft }) =>
    copiesIn(allTasks(places), places)
      .filter((copy) => isIdentical(copy) && !isOneFile(copy))
      .map((copy) => {
        draft.remove(copy.archived.path)
        const file = nameOf(copy.archived, places)
        return { file, problem: problemOf(copy), mended: 'removed the copy in the archive' }
      }),
}

interface Copy {
  readonly open: LocatedTask
  readonly archived: LocatedTask
}

export function copiesIn(all: readonly LocatedTask[], places: Places): Copy[] {
  return [...Map.groupBy(all, ({ task }) => task.id).values()].flatMap((group) => {
    const { open = [], archived = [] } = Object.groupBy(group, (each) =>
      isArchived(each, places) ? 'archived' : 'open',
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

function isIdentical({ open, archived }: Copy): boolean {
  return readTaskText(open.path) === readTaskText(archived.path)
}

/** If one is a link to the other, removing it could remove both. */
function isOneFile({ open, archived }: Copy): boolean {
  return statOf(open.path)?.ino === statOf(archived.path)?.ino
}

function problemOf(copy: Copy): string {
  const name = `"${copy.open.task.file}"`
  return isIdentical(copy)
    ? `is identical to the open task ${name}`
    : `is the same task as the open ${name}, but the content differs: compare the two and delete one`
}
