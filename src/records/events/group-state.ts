import type { Location } from './tree.ts'
import type { GroupSummary, Reason, Spent } from './schema.ts'
import { NOTHING_SPENT } from './spent.ts'

/** The state of one instance of a group after the events so far. */
export interface GroupState extends Location, Omit<GroupSummary, 'within' | 'copies'> {
  /** The running or last round; 0 before the first. */
  readonly round: number
  /** How many rounds earlier attempts used up; a resumed group gets new ones. */
  readonly usedRounds: number
  /** Whether its round has started and not ended. */
  readonly isOpen: boolean
  /** First step number of the running or next item; only items of a parallel group run together. */
  readonly at: number
  /** Absent until the group has ended. */
  readonly reason?: Reason | undefined
  readonly detail?: string | undefined
  /** Whether it was skipped by a condition. */
  readonly isPassed: boolean
  /** How many times it has sent its list back to another item. */
  readonly jumps: number
  /** Failed ends, which need handling. */
  readonly closings: number
  readonly spent: Spent
}

export const NEW_GROUP = {
  round: 0,
  usedRounds: 0,
  isOpen: false,
  isPassed: false,
  jumps: 0,
  closings: 0,
  spent: NOTHING_SPENT,
}
