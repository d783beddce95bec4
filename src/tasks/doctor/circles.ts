import { join } from 'node:path'
import { applyChanges } from '../text/changes.ts'
import { findCycles } from '../cycles.ts'
import { readTaskText, type Scan } from '../store/scan.ts'
import { byAge, type Task } from '../task.ts'
import type { Ailment } from './finding.ts'

/** Tasks that wait for themselves. A circle is opened where it was closed: at the younger task. */
export const circles: Ailment = {
  find: (_places, scan) =>
    circlesOf(scan).map(({ task, problem }) => ({ file: task.file, problem })),

  mend: (places, scan, { draft, now }) => {
    const byTask = Map.groupBy(circlesOf(scan), ({ task }) => task)
    return [...byTask].flatMap(([task, steps]) => {
      const path = join(places.tasks, task.file)
      const changes = {
        removeDependencies: steps.map(({ to }) => to),
        appendNotes: steps.map(({ to, problem }) => `Waits no longer for ${to}: it ${problem}.`),
      }
      draft.write(path, applyChanges(readTaskText(path), changes, now))
      return steps.map(({ problem, to }) => ({
        file: task.file,
        problem,
        mended: `it waits no longer for ${to}, which is noted`,
      }))
    })
  },
}

interface Step {
  readonly task: Task
  readonly to: string
  readonly problem: string
}

function circlesOf({ tasks }: Scan): Step[] {
  const byId = new Map(tasks.map((task) => [task.id, task]))
  const ids = tasks.toSorted(byAge).map(({ id }) => id)
  return findCycles(ids, (id) => byId.get(id)?.dependencies ?? []).map((cycle) => {
    // Told from the younger one on, whose dependency closes it.
    const [from, to] = [cycle.at(-2)!, cycle.at(-1)!]
    const way = [from, ...cycle.slice(0, -1)]
    return { task: byId.get(from)!, to, problem: `waits for itself: ${way.join(' -> ')}` }
  })
}
