import type { State } from './state.ts'

/** A clock that was set back must not let a claim hold for longer than its lease. */
export function clampLeases(state: State, now: Date): State {
  const ahead = Object.entries(state.claims).flatMap(([id, claim]) => {
    const { until, leaseMs } = claim
    if (until === undefined || leaseMs === undefined) return []
    const latest = now.getTime() + leaseMs
    if (Date.parse(until) <= latest) return []
    return [[id, { ...claim, until: new Date(latest).toISOString() }] as const]
  })
  if (ahead.length === 0) return state
  return { ...state, claims: { ...state.claims, ...Object.fromEntries(ahead) } }
}
