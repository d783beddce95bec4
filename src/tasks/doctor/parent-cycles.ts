import { join } from 'node:path'
import { applyChanges } from '../text/changes.ts'
import { findCycles } from '../cycles.ts'
import { Graph } from '../ready.ts'
import type { Places } from '../store/places.ts'
import { readTaskText, type Scan } from '../store/scan.ts'
import { byAge, type Task } from '../task.ts'
import type { Check } from './finding.ts'

/** Cycles of parents. The fix removes the parent of the younger task that closes the cycle. */
export const parentCycles: Check = {
  find: (places, scan) => circlesOf(places, scan).map(({ file, problem }) => ({ file, problem })),

  fix: (places, scan, { draft, now }) =>
    circlesOf(places, scan).map(({ task, file, problem }) => {
      const path = join(places.tasks, file)
      const note = `Removed the parent ${task.parent}: the task ${problem}.`
      const changes = { parent: '', appendNotes: [note] }
      draft.write(path, applyChanges(readTaskText(path), changes, now))
      return { file, problem, mended: 'removed the parent and added a note' }
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
    const path = [cycle.at(-2)!, ...cycle.slice(0, -1)]
    const task = graph.findUndone(path[0]!)!
    return { task, file: graph.fileOf(task), problem: `is its own ancestor: ${path.join(' -> ')}` }
  })
}
