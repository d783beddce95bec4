import { statOf } from '../../base/files.ts'
import type { Places } from '../store/places.ts'
import { readTaskText } from '../store/scan.ts'
import type { Ailment } from './finding.ts'
import { allTasks, isArchived, nameOf, type Placed } from './placed.ts'

/** Tasks that are both open and in the archive. The open one counts; what differs only a person can judge. */
export const copies: Ailment = {
  find: (places) =>
    copiesIn(allTasks(places), places).map((copy) => ({
      file: nameOf(copy.archived, places),
      problem: problemOf(copy),
    })),

  mend: (places, _patient, { draft }) =>
    copiesIn(allTasks(places), places)
      .filter((copy) => isIdentical(copy) && !isOneFile(copy))
      .map((copy) => {
        draft.remove(copy.archived.path)
        const file = nameOf(copy.archived, places)
        return { file, problem: problemOf(copy), mended: 'the copy in the archive is removed' }
      }),
}

interface Copy {
  readonly open: Placed
  readonly archived: Placed
}

export function copiesIn(all: readonly Placed[], places: Places): Copy[] {
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

/** Two clones may give one id, but not at the same moment. */
function isSameTask({ task: a }: Placed, { task: b }: Placed): boolean {
  return a.createdAt === b.createdAt && (a.createdAt !== '' || a.title === b.title)
}

function isIdentical({ open, archived }: Copy): boolean {
  return readTaskText(open.path) === readTaskText(archived.path)
}

/** Where one is a link to the other, to remove it could remove both. */
function isOneFile({ open, archived }: Copy): boolean {
  return statOf(open.path)?.ino === statOf(archived.path)?.ino
}

function problemOf(copy: Copy): string {
  const name = `"${copy.open.task.file}"`
  return isIdentical(copy)
    ? `is the same as the open ${name}`
    : `is the same task as the open ${name}, but says something else: compare the two, and delete one`
}
