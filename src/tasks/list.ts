import { join } from 'node:path'
import { readTextFile } from '../base/files.ts'
import { inArchive, scanArchive } from './archive.ts'
import { resolveId } from './find.ts'
import { tryToFreeDeadClaims } from './claims/dead-claims.ts'
import {
  blockingClaims,
  isOwner,
  NO_OWNER,
  whyDead,
  type Caller,
  type Owner,
} from './claims/owner.ts'
import type { TaskFolders } from './folders.ts'
import { Graph, type Readiness } from './ready.ts'
import { scanTasks, TASK_LIMIT_BYTES, type Broken, type Scan } from './store/scan.ts'
import { readLocalState } from './store/state.ts'
import type { Claim } from './store/state-shape.ts'
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
export function listTasks(folders: TaskFolders, filter: Filter = {}): Listing {
  const { tasks, broken } = filter.archived === true ? listArchive(folders) : scanTasks(folders)
  const chosen = overdueFirst(tasks.filter(makeTest(folders, filter)), new Date())
  return { tasks: chosen.slice(0, filter.limit), broken }
}

/** Says whether there are no tasks at all or only none that match. */
export function describeEmptyList(folders: TaskFolders, { archived = false }: Filter): string {
  return listTasks(folders, { archived }).tasks.length === 0 ? 'No tasks.' : 'No task matches.'
}

function listArchive(folders: TaskFolders): Scan {
  const { tasks, broken } = scanArchive(folders)
  const named = tasks.map((task) => ({ ...task, file: inArchive(folders, task.file) }))
  return { tasks: named.toSorted(inListOrder), broken }
}

/** Tasks whose file contains all words, ignoring case. */
export function searchTasks(folders: TaskFolders, words: readonly string[]): Listing {
  const wanted = words.map((word) => word.toLowerCase())
  const { tasks, broken } = listTasks(folders)
  const found = tasks.filter(({ file }) => {
    const read = readTextFile(join(folders.tasks, file), TASK_LIMIT_BYTES)
    const text = read.kind === 'text' ? read.text.toLowerCase() : ''
    return wanted.every((word) => text.includes(word))
  })
  return { tasks: found, broken }
}

/** The ready tasks, in the order of `next`. */
export function listReady(folders: TaskFolders, filter: Filter, caller: Caller): Listing {
  const { scan, graph } = judgeTasks(folders, caller)
  const tasks = graph.ready().filter(makeTest(folders, filter))
  return { tasks: tasks.slice(0, filter.limit), broken: scan.broken }
}

/** All open tasks, with the reasons why each is ready or not. */
export function explainReady(
  folders: TaskFolders,
  filter: Filter,
  caller: Caller,
): { readonly tasks: readonly Readiness[]; readonly broken: readonly Broken[] } {
  const { scan, graph } = judgeTasks(folders, caller)
  const open = graph.sorted(makeTest(folders, filter)).slice(0, filter.limit)
  return { tasks: open.map((task) => graph.judge(task)), broken: scan.broken }
}

/** The ids of tasks that other owners hold now. */
export function listHeld(folders: TaskFolders, { owner, now }: Caller): ReadonlySet<string> {
  const claims = blockingClaims(readLocalState(folders), owner, folders, now)
  return new Set([...claims].flatMap(([id, { settled }]) => (settled === undefined ? [id] : [])))
}

export interface Overview {
  /** Sorted as in `list`. */
  readonly tasks: readonly OverviewTask[]
  readonly broken: readonly Broken[]
}

interface OverviewTask {
  readonly task: Task
  readonly isReady: boolean
  /** A valid claim, or one that was settled in another checkout. */
  readonly claim: Claim | undefined
  /** Another owner who would lose the task if its status changed. */
  readonly otherOwner: string | undefined
}

export function readOverview(folders: TaskFolders, owner: Owner): Overview {
  const now = new Date()
  tryToFreeDeadClaims(folders, now)
  const scan = scanTasks(folders)
  const claims = blockingClaims(readLocalState(folders), NO_OWNER, folders, now)
  const graph = new Graph(folders, scan, claims)
  const tasks = overdueFirst(scan.tasks, now).map((task) => ({
    task,
    isReady: task.status === 'To Do' && graph.judge(task).isReady,
    claim: claims.get(task.id),
    otherOwner: otherOwnerOf(task, claims.get(task.id), owner),
  }))
  return { tasks, broken: scan.broken }
}

/** A fresh clone has no claims, so the assignee counts. */
function otherOwnerOf(task: Task, claim: Claim | undefined, me: Owner): string | undefined {
  if (claim !== undefined && claim.settled === undefined) {
    return isOwner(claim, me) ? undefined : claim.owner
  }
  return task.status === 'In Progress' && task.assignee !== me.name ? task.assignee : undefined
}

export interface ScannedGraph {
  readonly scan: Scan
  readonly graph: Graph
}

/** Reads all tasks with their graph, after freeing the tasks of dead owners. */
export function judgeTasks(folders: TaskFolders, caller: Caller): ScannedGraph {
  tryToFreeDeadClaims(folders, caller.now)
  return scanGraph(folders, caller)
}

export function scanGraph(folders: TaskFolders, { owner, now }: Caller): ScannedGraph {
  const scan = scanTasks(folders)
  // Read after the files: a claim is written before the file of its task.
  const state = readLocalState(folders)
  const isHeld = (id: string) => {
    const claim = state.claims[id]
    return claim !== undefined && whyDead(claim, now) === undefined
  }
  const claims = blockingClaims(state, owner, folders, now)
  return { scan, graph: new Graph(folders, scan, claims, isHeld, now) }
}

function makeTest(folders: TaskFolders, filter: Filter): (task: Task) => boolean {
  const { statuses = [], labels = [], priority, assignee, blockedBy } = filter
  const blocker = blockedBy === undefined ? undefined : resolveId(folders, blockedBy)
  return (task) =>
    (statuses.length === 0 || statuses.includes(task.status)) &&
    (priority === undefined || (task.priority ?? 'none') === priority) &&
    (assignee === undefined || (task.assignee ?? '') === assignee) &&
    labels.every((label) => task.labels.includes(label)) &&
    (blocker === undefined || task.dependencies.includes(blocker))
}
