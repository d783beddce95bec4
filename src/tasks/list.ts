import { join } from 'node:path'
import { readTextFile } from '../base/files.ts'
import { inArchive, scanArchive } from './archive.ts'
import { resolveId } from './find.ts'
import { renderId } from './id.ts'
import { tryToFreeDeadClaims } from './claims/dead-claims.ts'
import { blockingClaims, NO_OWNER, whyDead, type Caller, type Owner } from './claims/owner.ts'
import type { Places } from './store/places.ts'
import { Graph, type Readiness } from './ready.ts'
import { scanTasks, TASK_LIMIT_BYTES, type Broken, type Scan } from './store/scan.ts'
import { readLocalState, type Claim } from './store/state.ts'
import { inListOrder, type Task } from './task.ts'
import { overdueFirst } from './urgency.ts'
import type { Priority, Status } from './status.ts'

export interface Filter {
  readonly statuses?: readonly Status[]
  readonly priority?: Priority | 'none' | undefined
  readonly assignee?: string | undefined
  /** A task must have all of them. */
  readonly labels?: readonly string[]
  /** An id as people type it; selects the tasks that depend on it. */
  readonly blockedBy?: string | undefined
  readonly limit?: number | undefined
  /** Lists the archive instead of the open tasks. */
  readonly archived?: boolean
}

export type Listing = Scan

/** Sorted by priority, then overdue first, then by age. */
export function listTasks(places: Places, filter: Filter = {}): Listing {
  const { tasks, broken } = filter.archived === true ? listArchive(places) : scanTasks(places)
  const chosen = overdueFirst(tasks.filter(makeTest(places, filter)), new Date())
  return { tasks: chosen.slice(0, filter.limit), broken }
}

/** Says whether there are no tasks at all or only none that match. */
export function describeEmptyList(places: Places, { archived = false }: Filter): string {
  return listTasks(places, { archived }).tasks.length === 0 ? 'No tasks.' : 'No task matches.'
}

function listArchive(places: Places): Scan {
  const { tasks, broken } = scanArchive(places)
  const named = tasks.map((task) => ({ ...task, file: inArchive(places, task.file) }))
  return { tasks: named.toSorted(inListOrder), broken }
}

/** Tasks whose file contains all words, ignoring case. */
export function searchTasks(places: Places, words: readonly string[]): Listing {
  const wanted = words.map((word) => word.toLowerCase())
  const { tasks, broken } = listTasks(places)
  const found = tasks.filter(({ file }) => {
    const read = readTextFile(join(places.tasks, file), TASK_LIMIT_BYTES)
    const text = read.kind === 'text' ? read.text.toLowerCase() : ''
    return wanted.every((word) => text.includes(word))
  })
  return { tasks: found, broken }
}

/** The ready tasks, in the order of `next`. */
export function listReady(places: Places, filter: Filter, caller: Caller): Listing {
  const { scan, graph } = judgeTasks(places, caller)
  const tasks = graph.ready().filter(makeTest(places, filter))
  return { tasks: tasks.slice(0, filter.limit), broken: scan.broken }
}

/** All open tasks, with the reasons why each is ready or not. */
export function explainReady(
  places: Places,
  filter: Filter,
  caller: Caller,
): { readonly tasks: readonly Readiness[]; readonly broken: readonly Broken[] } {
  const { scan, graph } = judgeTasks(places, caller)
  const open = graph.sorted(makeTest(places, filter)).slice(0, filter.limit)
  return { tasks: open.map((task) => graph.judge(task)), broken: scan.broken }
}

/** The ids of tasks that other owners hold now. */
export function listHeld(places: Places, { owner, now }: Caller): ReadonlySet<string> {
  const claims = blockingClaims(readLocalState(places), owner, places, now)
  return new Set([...claims].flatMap(([id, { settled }]) => (settled === undefined ? [id] : [])))
}

export interface Overview {
  /** Sorted as in `list`. */
  readonly tasks: readonly { readonly task: Task; readonly isReady: boolean }[]
  readonly broken: readonly Broken[]
  /** All valid claims, and tasks settled in another checkout. */
  readonly claims: ReadonlyMap<string, Claim>
  readonly owner: Owner
}

export function readOverview(places: Places, owner: Owner): Overview {
  const now = new Date()
  tryToFreeDeadClaims(places, now)
  const scan = scanTasks(places)
  const claims = blockingClaims(readLocalState(places), NO_OWNER, places, now)
  const graph = new Graph(places, scan, claims)
  const tasks = overdueFirst(scan.tasks, now).map((task) => ({
    task,
    isReady: task.status === 'To Do' && graph.judge(task).isReady,
  }))
  return { tasks, broken: scan.broken, claims, owner }
}

export interface ScannedGraph {
  readonly scan: Scan
  readonly graph: Graph
}

/** Reads all tasks with their graph, after freeing the tasks of dead owners. */
export function judgeTasks(places: Places, caller: Caller): ScannedGraph {
  tryToFreeDeadClaims(places, caller.now)
  return scanGraph(places, caller)
}

export function scanGraph(places: Places, { owner, now }: Caller): ScannedGraph {
  const scan = scanTasks(places)
  // Read after the files: a claim is written before the file of its task.
  const state = readLocalState(places)
  const isHeld = (id: string) => {
    const claim = state.claims[id]
    return claim !== undefined && whyDead(claim, now) === undefined
  }
  const claims = blockingClaims(state, owner, places, now)
  return { scan, graph: new Graph(places, scan, claims, isHeld, now) }
}

function makeTest(places: Places, filter: Filter): (task: Task) => boolean {
  const { statuses = [], labels = [], priority, assignee, blockedBy } = filter
  const blocker = blockedBy === undefined ? undefined : renderId(resolveId(places, blockedBy))
  return (task) =>
    (statuses.length === 0 || statuses.includes(task.status)) &&
    (priority === undefined || (task.priority ?? 'none') === priority) &&
    (assignee === undefined || (task.assignee ?? '') === assignee) &&
    labels.every((label) => task.labels.includes(label)) &&
    (blocker === undefined || task.dependencies.includes(blocker))
}
