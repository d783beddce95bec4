import { tryToFreeDead } from '../tasks/claims/dead-claims.ts'
import { isOwner, NOBODY, standing, type Owner } from '../tasks/claims/owner.ts'
import type { Places } from '../tasks/store/places.ts'
import { Graph } from '../tasks/ready.ts'
import { scanTasks, type Broken } from '../tasks/store/scan.ts'
import { readState, type Claim } from '../tasks/store/state.ts'
import type { Task } from '../tasks/task.ts'
import { overdueFirst } from '../tasks/urgency.ts'
import { STATUSES } from '../tasks/words.ts'

/** A task as the board shows it. */
export interface Card {
  readonly task: Task
  readonly isReady: boolean
  /** Who is at it, or where it was finished without having been merged here. */
  readonly holder: string | undefined
  /** Who else is at it, and would lose it by another status. */
  readonly owner: string | undefined
  /** What a filter looks at. */
  readonly words: string
}

/** All tasks at one moment, in the order of a list. */
export interface Snapshot {
  readonly cards: readonly Card[]
  readonly broken: readonly Broken[]
}

export function readSnapshot(places: Places, me: Owner = NOBODY): Snapshot {
  const now = new Date()
  tryToFreeDead(places, readState(places), now)
  const scan = scanTasks(places)
  const claims = standing(readState(places), NOBODY, places, now)
  const graph = new Graph(places, scan, claims)
  const cards = overdueFirst(scan.tasks, now).map((task) => {
    return makeCard(task, task.status === 'To Do' && graph.judge(task).isReady, claims, me)
  })
  return { cards, broken: scan.broken }
}

export function makeCard(
  task: Task,
  isReady: boolean,
  claims: ReadonlyMap<string, Claim> = new Map(),
  me: Owner = NOBODY,
): Card {
  const words = [task.id, task.title, task.assignee ?? '', ...task.labels].join('\n').toLowerCase()
  const claim = claims.get(task.id)
  return { task, isReady, holder: holderOf(task, claim), owner: ownerOf(task, claim, me), words }
}

/** In a fresh clone nobody has a claim, but the file says whose work it is. */
function ownerOf(task: Task, claim: Claim | undefined, me: Owner): string | undefined {
  if (claim !== undefined && claim.settled === undefined) {
    return isOwner(claim, me) ? undefined : claim.owner
  }
  return task.status === 'In Progress' && task.assignee !== me.name ? task.assignee : undefined
}

function holderOf(task: Task, claim: Claim | undefined): string | undefined {
  if (claim === undefined || task.status === 'Done') return undefined
  return claim.settled === undefined
    ? claim.owner
    : `${claim.owner}, ${claim.settled} in ${claim.root}`
}

export interface Filter {
  readonly words: string
  readonly isOnlyReady: boolean
}

/** One list of cards for each status, with what the filter lets through. */
export function makeColumns({ cards }: Snapshot, filter: Filter): readonly (readonly Card[])[] {
  const wanted = filter.words.toLowerCase().split(/\s+/).filter(Boolean)
  const columns = new Map<string, Card[]>(STATUSES.map((status) => [status, []]))
  for (const card of cards) {
    if (filter.isOnlyReady && !card.isReady) continue
    if (wanted.every((word) => card.words.includes(word))) columns.get(card.task.status)?.push(card)
  }
  return [...columns.values()]
}
