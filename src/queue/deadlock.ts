/** What a node of the graph needs to continue: all nodes of at least one of these lists. */
export type Need = readonly (readonly string[])[]

export const NOTHING: Need = [[]]

/**
 * Maps each node of a deadlock to all nodes of its cycle. A node that merely waits for a cycle is not in
 * it: it continues once the cycle is broken.
 */
export function findCycles(needs: ReadonlyMap<string, Need>): Map<string, readonly string[]> {
  const stuck = findStuck(needs)
  const reachable = new Map([...stuck].map((id) => [id, reachableFrom(id, needs, stuck)]))
  const cycles = new Map<string, readonly string[]>()
  for (const [id, others] of reachable) {
    const cycle = [...others].filter((other) => reachable.get(other)!.has(id))
    if (cycle.length > 0) cycles.set(id, cycle)
  }
  return cycles
}

/** The stuck nodes that a node waits for, directly or indirectly. */
function reachableFrom(
  start: string,
  needs: ReadonlyMap<string, Need>,
  stuck: ReadonlySet<string>,
): Set<string> {
  const found = new Set<string>()
  const path = [start]
  for (let id = path.pop(); id !== undefined; id = path.pop()) {
    for (const next of needs.get(id)!.flat()) {
      if (!stuck.has(next) || found.has(next)) continue
      found.add(next)
      path.push(next)
    }
  }
  return found
}

/** Releases the stuck candidates, so that nodes that wait for them may continue; returns them. */
export function releaseStuck(needs: Map<string, Need>, candidates: readonly string[]): Set<string> {
  const released = findStuck(needs).intersection(new Set(candidates))
  for (const id of released) needs.set(id, NOTHING)
  return released
}

/** The nodes that remain after repeatedly removing all nodes that can continue. */
function findStuck(needs: ReadonlyMap<string, Need>): Set<string> {
  const stuck = new Set(needs.keys())
  const canContinue = (need: Need) => need.some((all) => all.every((id) => !stuck.has(id)))
  for (let before = -1; before !== stuck.size;) {
    before = stuck.size
    for (const id of stuck) if (canContinue(needs.get(id)!)) stuck.delete(id)
  }
  return stuck
}
