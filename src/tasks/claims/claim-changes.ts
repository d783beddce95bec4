import { originOf } from '../store/checkouts.ts'
import { DEFAULT_LEASE_MS, whyDead, type Owner } from './owner.ts'
import type { TaskFolders } from '../folders.ts'
import type { Attempt, Claim, State } from '../store/state-shape.ts'
import type { Status } from '../status.ts'

export interface ClaimContext {
  readonly owner: string
  readonly folders: TaskFolders
  readonly now: Date
}

/** Updates the claim on a task after its status has changed. */
export function followStatus(state: State, id: string, status: Status, on: ClaimContext): State {
  if (status === 'In Progress') return state
  const { now, owner: by } = on
  if (status === 'To Do') return endClaim(state, id, { outcome: 'released', now, by })
  const outcome = status === 'Done' ? 'done' : 'blocked'
  return markSettled(endClaim(state, id, { outcome, now, by }), id, outcome, on)
}

export function makeClaim(
  { name, run }: Owner,
  folders: TaskFolders,
  now: Date,
  leaseMs = DEFAULT_LEASE_MS,
): Claim {
  return {
    owner: name,
    at: now.toISOString(),
    ...originOf(folders),
    ...(run === undefined ? {} : { run }),
    until: new Date(now.getTime() + leaseMs).toISOString(),
    leaseMs,
  }
}

/**
 * An iteration that sets a task In Progress also claims it, so that the task is freed if the iteration ends
 * without finishing it. A user can set In Progress without a claim.
 */
export function claimForIteration(
  state: State,
  id: string,
  owner: Owner,
  { folders, now }: Omit<ClaimContext, 'owner'>,
): State {
  const known = state.claims[id]
  const why = known === undefined ? undefined : whyDead(known, now)
  const isFree =
    known === undefined ||
    why !== undefined ||
    (known.settled !== undefined && known.root === folders.root)
  if (owner.run === undefined || !isFree) return state
  const ended = why === undefined ? state : endClaim(state, id, { outcome: 'failed', why, now })
  return { ...ended, claims: { ...ended.claims, [id]: makeClaim(owner, folders, now) } }
}

/** Other worktrees do not have the change yet: the task stays claimed there until the merge. */
export function markSettled(
  state: State,
  id: string,
  settled: 'done' | 'blocked',
  { owner, folders, now }: ClaimContext,
): State {
  const hasNoWorktrees = folders.shared === folders.local
  if (hasNoWorktrees) return state
  const claim: Claim = { owner, at: now.toISOString(), ...originOf(folders), settled }
  return { ...state, claims: { ...state.claims, [id]: claim } }
}

interface End extends Pick<Attempt, 'outcome' | 'why' | 'isLast'> {
  readonly now: Date
  /** Who ends the claim, if not its owner. */
  readonly by?: string
}

/** Removes the claim and records it as an attempt. */
export function endClaim(state: State, id: string, { now, by, ...end }: End): State {
  const claim = state.claims[id]
  if (claim === undefined) return state
  const { [id]: _, ...claims } = state.claims
  // A settled claim is already recorded as an attempt.
  if (claim.settled !== undefined) return { ...state, claims }
  const attempt: Attempt = {
    owner: claim.owner,
    ...(claim.run === undefined ? {} : { run: claim.run }),
    at: claim.at,
    ended: now.toISOString(),
    ...end,
    ...(by === undefined || by === claim.owner ? {} : { why: `by ${by}` }),
  }
  const attempts = { ...state.attempts, [id]: [...(state.attempts[id] ?? []), attempt] }
  return { ...state, claims, attempts }
}
