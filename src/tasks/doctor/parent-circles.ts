import { join } from 'node:path'
import { applyChanges } from '../text/changes.ts'
import { findCycles } from '../cycles.ts'
import { Graph } from '../ready.ts'
import type { Places } from '../store/places.ts'
import { readTaskText, type Scan } from '../store/scan.ts'
import { byAge, type Task } from '../task.ts'
import type { Ailment } from './finding.ts'

/** Tasks that are parts of themselves. The younger task that closes a circle stands alone again. */
export const parentCircles: Ailment = {
  find: (places, scan) => circlesOf(places, scan).map(({ file, problem }) => ({ file, problem })),

  mend: (places, scan, { draft, now }) =>
    circlesOf(places, scan).map(({ task, file, problem }) => {
      const path = join(places.tasks, file)
      const note = `Is no part of ${task.parent} any more: it ${problem}.`
      const changes = { parent: '', appendNotes: [note] }
      draft.write(path, applyChanges(readTaskText(path), changes, now))
      return { file, problem, mended: 'its parent is removed, and noted' }
    }),
}

interface Closing {
  readonly task: Task
  readonly file: string
  readonly problem: string
}

function circlesOf(places: Places, scan: Scan): Closing[] {
  const graph = new Graph(places, scan, new Map())
  const ids = scan.tasks.toSorted(byAge).map(({ id }) => id)
  return findCycles(ids, graph.parents).map((cycle) => {
    const way = [cycle.at(-2)!, ...cycle.slice(0, -1)]
    const task = graph.findUndone(way[0]!)!
    return { task, file: graph.fileOf(task), problem: `is a part of itself: ${way.join(' -> ')}` }
  })
}
