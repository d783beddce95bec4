import { homeOf } from '../store/checkouts.ts'
import { DEFAULT_LEASE_MS, whyDead, type Owner } from './owner.ts'
import type { Places } from '../store/places.ts'
import type { Attempt, Claim, State } from '../store/state.ts'
import type { Status } from '../words.ts'

/** Where and when something happened to a claim, and by whom. */
export interface Occasion {
  readonly owner: string
  readonly places: Places
  readonly now: Date
}

/** What a new status of a task means for the claim on it. */
export function settleClaim(state: State, id: string, status: Status, on: Occasion): State {
  switch (status) {
    case 'Done':
      return settle(state, id, 'done', on)
    case 'Blocked':
      return settle(state, id, 'blocked', on)
    case 'To Do':
      return endClaim(state, id, {
        outcome: 'released',
        now: on.now,
        ...endedBy(state.claims[id], on.owner),
      })
    case 'In Progress':
      return state
  }
}

/** The claim of an owner, from now on. */
export function makeClaim(
  { name, run }: Owner,
  places: Places,
  now: Date,
  leaseMs = DEFAULT_LEASE_MS,
): Claim {
  return {
    owner: name,
    at: now.toISOString(),
    ...homeOf(places),
    ...(run === undefined ? {} : { run }),
    until: new Date(now.getTime() + leaseMs).toISOString(),
    leaseMs,
  }
}

/**
 * An iteration of a run that sets a task In Progress holds it, so that the task is free again when the
 * iteration ends without having finished it. A person may do so without a claim.
 */
export function beginInRun(
  state: State,
  id: string,
  owner: Owner,
  { places, now }: Omit<Occasion, 'owner'>,
): State {
  const known = state.claims[id]
  const why = known === undefined ? undefined : whyDead(known, now)
  const isFree =
    known === undefined ||
    why !== undefined ||
    (known.settled !== undefined && known.root === places.root)
  if (owner.run === undefined || !isFree) return state
  const ended = why === undefined ? state : endClaim(state, id, { outcome: 'failed', why, now })
  return { ...ended, claims: { ...ended.claims, [id]: makeClaim(owner, places, now) } }
}

/** Other worktrees do not have the change yet: there the task stays taken until it is merged. */
function settle(state: State, id: string, settled: 'done' | 'blocked', on: Occasion): State {
  const by = endedBy(state.claims[id], on.owner)
  const ended = endClaim(state, id, { outcome: settled, now: on.now, ...by })
  return markSettled(ended, id, settled, on)
}

export function markSettled(
  state: State,
  id: string,
  settled: 'done' | 'blocked',
  { owner, places, now }: Occasion,
): State {
  const hasNoWorktrees = places.shared === places.local
  if (hasNoWorktrees) return state
  const claim: Claim = { owner, at: now.toISOString(), ...homeOf(places), settled }
  return { ...state, claims: { ...state.claims, [id]: claim } }
}

/** Who ended it, where that is not the one who had it. */
export function endedBy(claim: Claim | undefined, owner: string): { readonly why?: string } {
  return claim === undefined || claim.owner === owner ? {} : { why: `by ${owner}` }
}

/** Takes the claim away and remembers how it ended. */
export function endClaim(
  state: State,
  id: string,
  { now, ...end }: Pick<Attempt, 'outcome' | 'why' | 'isLast'> & { readonly now: Date },
): State {
  const claim = state.claims[id]
  if (claim === undefined) return state
  const { [id]: _, ...claims } = state.claims
  // What was settled is no attempt any more; opened again, it can be taken again.
  if (claim.settled !== undefined) return { ...state, claims }
  const attempt: Attempt = {
    owner: claim.owner,
    ...(claim.run === undefined ? {} : { run: claim.run }),
    at: claim.at,
    ended: now.toISOString(),
    ...end,
  }
  const attempts = { ...state.attempts, [id]: [...(state.attempts[id] ?? []), attempt] }
  return { ...state, claims, attempts }
}
