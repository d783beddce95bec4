import type { TaskDatabase } from '../../tasks/database.ts'
import type { Broken } from '../../tasks/store/scan.ts'
import type { Claim } from '../../tasks/store/state-shape.ts'
import type { Task } from '../../tasks/task.ts'
import { STATUSES } from '../../tasks/status.ts'

export interface Card {
  readonly task: Task
  readonly isReady: boolean
  /** Who holds it, or where it was finished but not yet merged here. */
  readonly holder: string | undefined
  /** Another owner whose claim a change of status would end. */
  readonly owner: string | undefined
  readonly words: string
}

export interface Snapshot {
  readonly cards: readonly Card[]
  readonly broken: readonly Broken[]
}

export function readSnapshot(database: TaskDatabase): Snapshot {
  const { tasks, broken } = database.overview()
  const cards = tasks.map(({ task, isReady, claim, otherOwner }) =>
    makeCard(task, isReady, claim, otherOwner),
  )
  return { cards, broken }
}

export function makeCard(task: Task, isReady: boolean, claim?: Claim, owner?: string): Card {
  const words = [task.id, task.title, task.assignee ?? '', ...task.labels].join('\n').toLowerCase()
  return { task, isReady, holder: holderOf(task, claim), owner, words }
}

function holderOf(task: Task, claim: Claim | undefined): string | undefined {
  if (claim === undefined || task.status === 'Done') return undefined
  return claim.settled === undefined
    ? claim.owner
    : `${claim.owner}, ${claim.settled} in ${claim.root}`
}

export interface CardFilter {
  readonly words: string
  readonly isOnlyReady: boolean
}

/** The cards that match the filter, one list per status. */
export function makeColumns({ cards }: Snapshot, filter: CardFilter): readonly (readonly Card[])[] {
  const wanted = filter.words.toLowerCase().split(/\s+/).filter(Boolean)
  const columns = new Map<string, Card[]>(STATUSES.map((status) => [status, []]))
  for (const card of cards) {
    if (filter.isOnlyReady && !card.isReady) continue
    if (wanted.every((word) => card.words.includes(word))) columns.get(card.task.status)?.push(card)
  }
  return [...columns.values()]
}
