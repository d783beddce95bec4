import { join } from 'node:path'
import { applyChanges } from '../text/changes.ts'
import type { Places } from '../store/places.ts'
import { Graph } from '../ready.ts'
import { readTaskText, type Scan } from '../store/scan.ts'
import type { Task } from '../task.ts'
import type { Check } from './finding.ts'

/** References to tasks that do not exist. The fix removes them and adds a note. */
export const dangling: Check = {
  find: (places, scan) =>
    danglingOf(places, scan).flatMap(({ task, missing }) =>
      missing.map(({ problem }) => ({ file: task.file, problem })),
    ),

  fix: (places, scan, { draft, now }) =>
    danglingOf(places, scan).flatMap(({ task, missing }) => {
      const path = join(places.tasks, task.file)
      const gone = missing.map(({ id }) => id)
      const changes = {
        removeDependencies: gone,
        ...(task.parent !== undefined && gone.includes(task.parent) ? { parent: '' } : {}),
        appendNotes: [...new Set(gone)].map(
          (id) => `Removed the reference to ${id}: no such task.`,
        ),
      }
      draft.write(path, applyChanges(readTaskText(path), changes, now))
      return missing.map(({ problem }) => ({
        file: task.file,
        problem,
        mended: 'removed the reference and added a note',
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
      missing.push({ id: parent, problem: `has the parent ${parent}, which does not exist` })
    }
    return missing.length === 0 ? [] : [{ task, missing }]
  })
}
