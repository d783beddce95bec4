import { join } from 'node:path'
import { applyChanges } from '../text/changes.ts'
import { findCycles } from '../cycles.ts'
import { parentsOf } from '../ready.ts'
import { readTaskText, type Scan } from '../store/scan.ts'
import { byAge, type Task } from '../task.ts'
import type { Ailment } from './finding.ts'

/** Tasks that are parts of themselves. The younger task that closes a circle stands alone again. */
export const parentCircles: Ailment = {
  find: (_places, scan) =>
    circlesOf(scan).map(({ task, problem }) => ({ file: task.file, problem })),

  mend: (places, scan, { draft, now }) =>
    circlesOf(scan).map(({ task, problem }) => {
      const path = join(places.tasks, task.file)
      const note = `Is no part of ${task.parent} any more: it ${problem}.`
      const changes = { parent: '', appendNotes: [note] }
      draft.write(path, applyChanges(readTaskText(path), changes, now))
      return { file: task.file, problem, mended: 'its parent is removed, and noted' }
    }),
}

function circlesOf({ tasks }: Scan): { readonly task: Task; readonly problem: string }[] {
  const byId = new Map(tasks.map((task) => [task.id, task]))
  const ids = tasks.toSorted(byAge).map(({ id }) => id)
  return findCycles(ids, (id) => parentsOf(byId.get(id))).map((cycle) => {
    const way = [cycle.at(-2)!, ...cycle.slice(0, -1)]
    return { task: byId.get(way[0]!)!, problem: `is a part of itself: ${way.join(' -> ')}` }
  })
}
