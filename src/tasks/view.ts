import { dirname, join } from 'node:path'
import { checkoutOf, located } from './store/checkouts.ts'
import { tryToFreeDead } from './claims/dead-claims.ts'
import { readBody, readNotes, type Body } from './text/read-body.ts'
import { findTask, readOrRefuse, resolveId, type TaskText } from './find.ts'
import { renderId } from './id.ts'
import type { Places } from './store/places.ts'
import { Graph } from './ready.ts'
import { readTaskText, scanTasks, type Scan } from './store/scan.ts'
import { statOf } from '../base/files.ts'
import type { Commit } from './history.ts'
import { readState, type Attempt, type Claim } from './store/state.ts'
import type { Task } from './task.ts'

/** Everything that is known of one task: what an agent needs before it begins. */
export interface Brief extends Body {
  readonly task: Task
  readonly dependencies: readonly Dependency[]
  readonly blocks: readonly string[]
  readonly claim: Claim | undefined
  readonly attempts: readonly Attempt[]
  /** When its file changed last. */
  readonly changedAt: string | undefined
  readonly path: string
  readonly isArchived: boolean
  /** Only where they were asked for. */
  readonly commits?: readonly Commit[]
}

/** A task that has to be done before, and what it left for those that come after. */
interface Dependency {
  readonly id: string
  readonly status: string
  readonly notes: string
}

/** The brief of the task that a person means by `TASK-1`, `task-001` or `1`. */
export function makeBrief(places: Places, word: string, scan: Scan = scanTasks(places)): Brief {
  const { tasks } = scan
  const before = readState(places)
  const state = tryToFreeDead(places, before, new Date()) ? readState(places) : before
  const found = findScanned(places, tasks, word) ?? findTask(places, word)
  const { task, text, path } = found
  const graph = new Graph(places, scan, new Map())
  return {
    task,
    ...readBody(text),
    dependencies: task.dependencies.map((id) => {
      const status = graph.statusOf(id) ?? 'missing'
      return { id, status, notes: status === 'Done' ? notesOf(places, graph, id) : '' }
    }),
    blocks: graph.waitingFor(task.id).map((each) => each.id),
    claim: shownClaim(state.claims[task.id], places),
    attempts: state.attempts[task.id] ?? [],
    changedAt: statOf(path)?.mtime.toISOString(),
    path,
    isArchived: dirname(path) === places.archive,
  }
}

/** What was settled here says the file itself; with its checkout it is gone. */
function shownClaim(claim: Claim | undefined, here: Places): Claim | undefined {
  if (claim === undefined) return undefined
  const there = checkoutOf(claim, here)
  const isElsewhere = there !== undefined && there !== here
  return isElsewhere || claim.settled === undefined ? located(claim, there) : undefined
}

/** Without looking through the folder a second time. */
function findScanned(places: Places, tasks: readonly Task[], word: string): TaskText | undefined {
  const id = renderId(resolveId(places, word))
  const task = tasks.find((each) => each.id === id)
  if (task === undefined) return undefined
  return readOrRefuse(places.tasks, task.file)
}

/** What a finished task left for those that come after it. */
function notesOf(places: Places, graph: Graph, id: string): string {
  try {
    const task = graph.find(id)
    const text =
      task === undefined ? findTask(places, id).text : readTaskText(join(places.tasks, task.file))
    return readNotes(text)
  } catch {
    return ''
  }
}
