import { join } from 'node:path'
import { findCycles } from '../cycles.ts'
import { Graph } from '../ready.ts'
import type { TaskFolders } from '../folders.ts'
import type { Scan } from '../store/scan.ts'
import { byAge, type Task } from '../task.ts'
import { applyChanges, type Changes } from '../text/changes.ts'
import { makeCheck, type Finding, type TaskProblem } from './check.ts'

/** References to tasks that do not exist. The fix removes them and adds a note. */
export const dangling = makeCheck((folders, scan) => {
  const graph = new Graph(folders, scan)
  return scan.tasks.flatMap(({ file, dependencies, parent }) => {
    const missing = dependencies
      .filter((id) => !graph.has(id))
      .map((id) => ({ id, problem: `depends on ${id}, which does not exist` }))
    const isOrphan = parent !== undefined && !graph.has(parent)
    if (isOrphan) {
      missing.push({ id: parent, problem: `has the parent ${parent}, which does not exist` })
    }
    if (missing.length === 0) return []
    const gone = missing.map(({ id }) => id)
    const mended = 'removed the reference and added a note'
    return makeProblem(folders, file, {
      findings: missing.map(({ problem }) => ({ file, problem, mended })),
      changes: {
        removeDependencies: gone,
        ...(isOrphan ? { parent: '' } : {}),
        appendNotes: [...new Set(gone)].map(
          (id) => `Removed the reference to ${id}: no such task.`,
        ),
      },
    })
  })
})

/** Dependency cycles. The fix removes the dependency of the younger task that closes the cycle. */
export const dependencyCycles = makeCheck((folders, scan) => {
  const graph = new Graph(folders, scan)
  const links = closingLinks(graph, scan, graph.edges, 'depends on itself')
  return [...Map.groupBy(links, ({ file }) => file)].map(([file, closing]) =>
    makeProblem(folders, file, {
      findings: closing.map(({ problem, to }) => {
        return { file, problem, mended: `removed the dependency on ${to} and added a note` }
      }),
      changes: {
        removeDependencies: closing.map(({ to }) => to),
        appendNotes: closing.map(
          ({ to, problem }) => `Removed the dependency on ${to}: the task ${problem}.`,
        ),
      },
    }),
  )
})

/** Cycles of parents. The fix removes the parent of the younger task that closes the cycle. */
export const parentCycles = makeCheck((folders, scan) => {
  const graph = new Graph(folders, scan)
  const links = closingLinks(graph, scan, graph.parents, 'is its own ancestor')
  return links.map(({ file, problem, task: { parent } }) =>
    makeProblem(folders, file, {
      findings: [{ file, problem, mended: 'removed the parent and added a note' }],
      changes: {
        parent: '',
        appendNotes: [`Removed the parent ${parent}: the task ${problem}.`],
      },
    }),
  )
})

function makeProblem(
  { tasks }: TaskFolders,
  file: string,
  { findings, changes }: { readonly findings: readonly Finding[]; readonly changes: Changes },
): TaskProblem {
  const path = join(tasks, file)
  return {
    findings,
    fix: ({ draft, now }) => draft.write(path, applyChanges(draft.read(path), changes, now)),
  }
}

interface ClosingLink {
  readonly task: Task
  readonly file: string
  readonly to: string
  readonly problem: string
}

/** The last link of each cycle; it belongs to the younger task. */
function closingLinks(
  graph: Graph,
  { tasks }: Scan,
  edges: Graph['edges'],
  what: string,
): ClosingLink[] {
  const ids = tasks.toSorted(byAge).map(({ id }) => id)
  const links = findCycles(ids, edges).map((cycle) => {
    const [from, to] = [cycle.at(-2)!, cycle.at(-1)!]
    const task = graph.findUndone(from)!
    const path = describePath([from, ...cycle.slice(0, -1)])
    return { task, file: graph.fileOf(task), to, problem: `${what}: ${path}` }
  })
  return links.toArray()
}

/** How many ids of a path are shown at each of its ends: many cycles may share a long path. */
const SHOWN = 10

function describePath(path: readonly string[]): string {
  const more = path.length - 2 * SHOWN
  const ids = more > 0 ? [...path.slice(0, SHOWN), `(${more} more)`, ...path.slice(-SHOWN)] : path
  return ids.join(' -> ')
}
