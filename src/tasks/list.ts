import { inArchive, scanArchive } from './archive.ts'
import { resolveId } from './find.ts'
import { renderId } from './id.ts'
import { tryToFreeDead } from './claims/dead-claims.ts'
import { standing, whyDead, type Owner } from './claims/owner.ts'
import type { Places } from './store/places.ts'
import { Graph, type Readiness } from './ready.ts'
import { scanTasks, type Broken, type Scan } from './store/scan.ts'
import { readState, type State } from './store/state.ts'
import { inListOrder, type Task } from './task.ts'
import { overdueFirst } from './urgency.ts'
import type { Priority, Status } from './words.ts'

/** What is asked for; what is absent does not matter. */
export interface Filter {
  readonly statuses?: readonly Status[]
  readonly priority?: Priority | 'none' | undefined
  readonly assignee?: string | undefined
  /** All of them. */
  readonly labels?: readonly string[]
  /** The id of a task that is waited for, as a person types it. */
  readonly blockedBy?: string | undefined
  readonly limit?: number | undefined
  /** Those of the archive, in place of the open ones. */
  readonly archived?: boolean
}

/** On whose behalf, and when, it is asked what is ready. */
export interface Asking {
  readonly owner: Owner
  readonly now: Date
}

export interface Listing {
  readonly tasks: readonly Task[]
  readonly broken: readonly Broken[]
}

/** By priority, within it what is overdue first, then by age. */
export function listTasks(places: Places, filter: Filter = {}): Listing {
  const { tasks, broken } = filter.archived === true ? listArchive(places) : scanTasks(places)
  const chosen = overdueFirst(tasks.filter(makeTest(places, filter)), new Date())
  return { tasks: chosen.slice(0, filter.limit), broken }
}

/** What an empty list means: there are no tasks, or only none of those that were asked for. */
export function emptyListWords(places: Places, { archived = false }: Filter): string {
  return listTasks(places, { archived }).tasks.length === 0 ? 'No tasks.' : 'No task matches.'
}

function listArchive(places: Places): Scan {
  const { tasks, broken } = scanArchive(places)
  const named = tasks.map((task) => ({ ...task, file: inArchive(places, task.file) }))
  return { tasks: named.toSorted(inListOrder), broken }
}

/** What can be begun now, in the order of `next`. */
export function listReady(places: Places, filter: Filter, asking: Asking): Listing {
  const { scan, graph } = judgeTasks(places, asking)
  const isChosen = makeTest(places, filter)
  const tasks = graph.ready().filter(isChosen)
  return { tasks: tasks.slice(0, filter.limit), broken: scan.broken }
}

/** All that is not done, with what each waits for. */
export function explainReady(
  places: Places,
  filter: Filter,
  asking: Asking,
): { readonly tasks: readonly Readiness[]; readonly broken: readonly Broken[] } {
  const { scan, graph } = judgeTasks(places, asking)
  const isChosen = makeTest(places, filter)
  const open = graph.sorted((task) => task.status !== 'Done' && isChosen(task))
  const tasks = open.slice(0, filter.limit)
  return { tasks: tasks.map((task) => graph.judge(task)), broken: scan.broken }
}

/** The ids of tasks that somebody is at now. */
export function listHeld(places: Places, { owner, now }: Asking): ReadonlySet<string> {
  const claims = standing(readState(places), owner, places, now)
  return new Set([...claims].flatMap(([id, { settled }]) => (settled === undefined ? [id] : [])))
}

export interface Judged {
  readonly scan: Scan
  readonly graph: Graph
}

/** What there is, and what of it is ready; what its owner will not finish any more is put back first. */
export function judgeTasks(places: Places, asking: Asking): Judged {
  const scan = scanTasks(places)
  // Behind the files: whoever takes a task says so before the file does.
  const state = readState(places)
  if (!tryToFreeDead(places, state, asking.now)) {
    return { scan, graph: makeGraph(places, scan, state, asking) }
  }
  const freed = scanTasks(places)
  return { scan: freed, graph: makeGraph(places, freed, readState(places), asking) }
}

export function makeGraph(places: Places, scan: Scan, state: State, asking: Asking): Graph {
  const { owner, now } = asking
  const isHeld = (id: string) => {
    const claim = state.claims[id]
    return claim !== undefined && whyDead(claim, now) === undefined
  }
  return new Graph(places, scan, standing(state, owner, places, now), isHeld, now)
}

function makeTest(places: Places, filter: Filter): (task: Task) => boolean {
  const { statuses = [], labels = [], priority, assignee, blockedBy } = filter
  const hasLabels = labels.length > 0
  const blocker = blockedBy === undefined ? undefined : renderId(resolveId(places, blockedBy))
  return (task) =>
    (statuses.length === 0 || statuses.includes(task.status)) &&
    (priority === undefined || (task.priority ?? 'none') === priority) &&
    (assignee === undefined || (task.assignee ?? '') === assignee) &&
    (!hasLabels || labels.every((label) => task.labels.includes(label))) &&
    (blocker === undefined || task.dependencies.includes(blocker))
}
