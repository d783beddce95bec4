import { join } from 'node:path'
import { applyChanges } from '../text/changes.ts'
import type { Places } from '../store/places.ts'
import { Graph } from '../ready.ts'
import { readTaskText, type Scan } from '../store/scan.ts'
import type { Task } from '../task.ts'
import type { Ailment } from './finding.ts'

/** References to tasks that do not exist. Which ones they were is noted, so that nothing is lost. */
export const dangling: Ailment = {
  find: (places, scan) =>
    danglingOf(places, scan).flatMap(({ task, missing }) =>
      missing.map(({ problem }) => ({ file: task.file, problem })),
    ),

  mend: (places, scan, { draft, now }) =>
    danglingOf(places, scan).flatMap(({ task, missing }) => {
      const path = join(places.tasks, task.file)
      const gone = missing.map(({ id }) => id)
      const changes = {
        removeDependencies: gone,
        ...(task.parent !== undefined && gone.includes(task.parent) ? { parent: '' } : {}),
        appendNotes: [...new Set(gone)].map(
          (id) => `The reference to ${id} is removed: there is no such task.`,
        ),
      }
      draft.write(path, applyChanges(readTaskText(path), changes, now))
      return missing.map(({ problem }) => ({
        file: task.file,
        problem,
        mended: 'the reference is removed, and noted',
      }))
    }),
}

interface Dangling {
  readonly task: Task
  readonly missing: readonly { readonly id: string; readonly problem: string }[]
}

function danglingOf(places: Places, scan: Scan): Dangling[] {
  const graph = new Graph(places, scan, new Map())
  return scan.tasks.flatMap((task) => {
    const missing = task.dependencies
      .filter((id) => !graph.has(id))
      .map((id) => ({ id, problem: `depends on ${id}, which does not exist` }))
    const { parent } = task
    if (parent !== undefined && !graph.has(parent)) {
      missing.push({ id: parent, problem: `is a part of ${parent}, which does not exist` })
    }
    return missing.length === 0 ? [] : [{ task, missing }]
  })
}
