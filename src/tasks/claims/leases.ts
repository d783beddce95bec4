import { UserError } from '../../base/errors.ts'
import { change, tryToChange, type Draft } from '../store/change.ts'
import { mayBeDue } from '../store/moves.ts'
import { isOwner, whyDead, type Owner } from './owner.ts'
import type { Places } from '../store/places.ts'
import { readState, type Claim, type State } from '../store/state.ts'

/** Puts off the end of the claims of an owner. */
export function renew(state: State, owner: Owner, now: Date): State {
  let claims = state.claims
  for (const [id, claim] of Object.entries(state.claims)) {
    const { leaseMs } = claim
    if (leaseMs === undefined || !isOwner(claim, owner) || whyDead(claim, now)) continue
    const until = new Date(now.getTime() + leaseMs).toISOString()
    claims = { ...claims, [id]: { ...claim, until } }
  }
  return claims === state.claims ? state : { ...state, claims }
}

/** Not at every question: a tenth of the time may pass before it is worth a change. */
const WORTH_RENEWING = 0.9

/** Others are through with a change by then; who hangs is not waited for. */
const PATIENCE_MS = 100

/**
 * Whoever asks is at work: also by a command that itself changes nothing. What a killed writer had begun
 * is ended first, so that nobody sees half of it.
 */
export function keepLeases(places: Places, owner: Owner, now: Date): void {
  const { claims, moves = [] } = readState(places)
  if (mayBeDue(moves)) tryToChange(places, () => undefined)
  const isDue = ({ until = '', leaseMs = 0 }: Claim) =>
    Date.parse(until) - now.getTime() < leaseMs * WORTH_RENEWING
  const own = Object.values(claims).filter((claim) => isOwner(claim, owner))
  if (!own.some((claim) => isDue(claim) && whyDead(claim, now) === undefined)) return
  try {
    const work = (draft: Draft) => {
      draft.state = renew(draft.state, owner, now)
    }
    change(places, work, PATIENCE_MS)
  } catch (error) {
    // Where nothing can be written, there is still much to read.
    if (!(error instanceof UserError)) throw error
  }
}
