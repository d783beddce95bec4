import { UserError } from '../../base/errors.ts'
import { change, tryToChange, type Draft } from '../store/change.ts'
import { isOwner, whyDead, type Owner } from './owner.ts'
import type { TaskFolders } from '../folders.ts'
import { readLocalState } from '../store/state.ts'
import type { Claim, State } from '../store/state-shape.ts'

export function extendLeases(state: State, owner: Owner, now: Date): State {
  let claims = state.claims
  for (const [id, claim] of Object.entries(state.claims)) {
    const { leaseMs } = claim
    if (leaseMs === undefined || !isOwner(claim, owner) || whyDead(claim, now)) continue
    const until = new Date(now.getTime() + leaseMs).toISOString()
    claims = { ...claims, [id]: { ...claim, until } }
  }
  return claims === state.claims ? state : { ...state, claims }
}

/** Renewing writes to disk, so a lease is renewed only after a tenth of its time. */
const WORTH_RENEWING = 0.9

/** Longer than any normal change; a process that hangs is not waited for. */
const PATIENCE_MS = 100

/**
 * Renews the leases of an owner; every command does, even if it only reads. Completes the change of a
 * killed writer first, so that no command sees half of it.
 */
export function renewLeases(folders: TaskFolders, owner: Owner, now: Date): void {
  const { claims, moves = [] } = readLocalState(folders)
  if (moves.length > 0) tryToChange(folders, () => undefined)
  const isDue = ({ until = '', leaseMs = 0 }: Claim) =>
    Date.parse(until) - now.getTime() < leaseMs * WORTH_RENEWING
  const own = Object.values(claims).filter((claim) => isOwner(claim, owner))
  if (!own.some((claim) => isDue(claim) && whyDead(claim, now) === undefined)) return
  try {
    const work = (draft: Draft) => {
      draft.state = extendLeases(draft.state, owner, now)
    }
    change(folders, work, PATIENCE_MS)
  } catch (error) {
    // A read-only project can still be read.
    if (!(error instanceof UserError)) throw error
  }
}
