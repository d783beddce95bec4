import { join } from 'node:path'
import { applyChanges } from '../text/changes.ts'
import { findCycles } from '../cycles.ts'
import { Graph } from '../ready.ts'
import type { Places } from '../store/places.ts'
import { readTaskText, type Scan } from '../store/scan.ts'
import { byAge } from '../task.ts'
import type { Ailment } from './finding.ts'

/** Tasks that wait for themselves. A circle is opened where it was closed: at the younger task. */
export const circles: Ailment = {
  find: (places, scan) => circlesOf(places, scan).map(({ file, problem }) => ({ file, problem })),

  mend: (places, scan, { draft, now }) => {
    const byFile = Map.groupBy(circlesOf(places, scan), ({ file }) => file)
    return [...byFile].flatMap(([file, steps]) => {
      const path = join(places.tasks, file)
      const changes = {
        removeDependencies: steps.map(({ to }) => to),
        appendNotes: steps.map(({ to, problem }) => `Waits no longer for ${to}: it ${problem}.`),
      }
      draft.write(path, applyChanges(readTaskText(path), changes, now))
      return steps.map(({ problem, to }) => ({
        file,
        problem,
        mended: `it waits no longer for ${to}, which is noted`,
      }))
    })
  },
}

interface Step {
  readonly file: string
  readonly to: string
  readonly problem: string
}

function circlesOf(places: Places, scan: Scan): Step[] {
  const graph = new Graph(places, scan, new Map())
  const ids = scan.tasks.toSorted(byAge).map(({ id }) => id)
  return findCycles(ids, graph.edges).map((cycle) => {
    // Told from the younger one on, whose dependency closes it.
    const [from, to] = [cycle.at(-2)!, cycle.at(-1)!]
    const way = [from, ...cycle.slice(0, -1)]
    const file = graph.fileOf(graph.findUndone(from)!)
    return { file, to, problem: `waits for itself: ${way.join(' -> ')}` }
  })
}
