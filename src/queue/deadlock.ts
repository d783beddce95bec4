/** What an agent, or one of its waits, needs to continue: all or any of these. */
export interface Need {
  readonly kind: 'all' | 'any'
  readonly of: readonly string[]
}

export const NOTHING: Need = { kind: 'all', of: [] }

/**
 * Maps each node of a deadlock to all nodes of its cycle. A node that merely waits for a cycle is not in
 * it: it continues once the cycle is broken.
 */
export function findCycles(needs: ReadonlyMap<string, Need>): Map<string, readonly string[]> {
  const stuck = findStuck(needs)
  const reachable = new Map([...stuck].map((id) => [id, reachableFrom(id, needs, stuck)]))
  const cycles = new Map<string, readonly string[]>()
  for (const [id, others] of reachable) {
    if (others.has(id))
      cycles.set(
        id,
        [...others].filter((other) => reachable.get(other)!.has(id)),
      )
  }
  return cycles
}

/** The stuck nodes that a node waits for, directly or through others. */
function reachableFrom(
  start: string,
  needs: ReadonlyMap<string, Need>,
  stuck: ReadonlySet<string>,
): Set<string> {
  const found = new Set<string>()
  const path = [start]
  for (let id = path.pop(); id !== undefined; id = path.pop()) {
    for (const next of needs.get(id)!.of) {
      if (!stuck.has(next) || found.has(next)) continue
      found.add(next)
      path.push(next)
    }
  }
  return found
}

/** Releases the stuck candidates, so that nodes that wait for them may continue; returns them. */
export function releaseStuck(needs: Map<string, Need>, candidates: readonly string[]): string[] {
  const stuck = findStuck(needs)
  const found = candidates.filter((id) => stuck.has(id))
  for (const id of found) needs.set(id, NOTHING)
  return found
}

/** The nodes that remain after all nodes that can continue are removed, again and again. */
function findStuck(needs: ReadonlyMap<string, Need>): Set<string> {
  const stuck = new Set(needs.keys())
  const isFree = (id: string) => !stuck.has(id)
  const canContinue = ({ kind, of }: Need) => (kind === 'any' ? of.some(isFree) : of.every(isFree))
  for (let before = -1; before !== stuck.size;) {
    before = stuck.size
    for (const id of stuck) if (canContinue(needs.get(id)!)) stuck.delete(id)
  }
  return stuck
}
