import { join } from 'node:path'
import { applyChanges } from '../text/changes.ts'
import { findCycles } from '../cycles.ts'
import { Graph } from '../ready.ts'
import type { Places } from '../store/places.ts'
import { readTaskText, type Scan } from '../store/scan.ts'
import { byAge } from '../task.ts'
import type { Check } from './finding.ts'

/** Dependency cycles. The fix removes the dependency of the younger task that closes the cycle. */
export const dependencyCycles: Check = {
  find: (places, scan) => circlesOf(places, scan).map(({ file, problem }) => ({ file, problem })),

  fix: (places, scan, { draft, now }) => {
    const byFile = Map.groupBy(circlesOf(places, scan), ({ file }) => file)
    return [...byFile].flatMap(([file, steps]) => {
      const path = join(places.tasks, file)
      const changes = {
        removeDependencies: steps.map(({ to }) => to),
        appendNotes: steps.map(
          ({ to, problem }) => `Removed the dependency on ${to}: the task ${problem}.`,
        ),
      }
      draft.write(path, applyChanges(readTaskText(path), changes, now))
      return steps.map(({ problem, to }) => ({
        file,
        problem,
        mended: `removed the dependency on ${to} and added a note`,
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
    // The message starts with the younger task, whose dependency closes the cycle.
    const [from, to] = [cycle.at(-2)!, cycle.at(-1)!]
    const path = [from, ...cycle.slice(0, -1)]
    const file = graph.fileOf(graph.findUndone(from)!)
    return { file, to, problem: `depends on itself: ${path.join(' -> ')}` }
  })
}
