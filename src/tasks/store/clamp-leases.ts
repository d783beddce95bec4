import type { Claim, State } from './state.ts'

/** Limits each claim to its lease from now, in case the clock was set back. */
export function clampLeases(state: State, now: number): State {
  const all = Object.values(state.claims)
  for (let at = 0; at < all.length; at++) {
    if (all[at]!.until !== undefined && isAhead(all[at]!, now)) return clampAll(state, now)
  }
  return state
}

function clampAll(state: State, now: number): State {
  const claims = Object.entries(state.claims).map(([id, claim]) => {
    const { leaseMs = 0 } = claim
    const until = new Date(now + leaseMs).toISOString()
    return [id, isAhead(claim, now) ? { ...claim, until } : claim] as const
  })
  return { ...state, claims: Object.fromEntries(claims) }
}

function isAhead({ until, leaseMs }: Claim, now: number): boolean {
  return until !== undefined && leaseMs !== undefined && Date.parse(until) > now + leaseMs
}
