/** What an agent, or one of its waits, needs to continue. */
export type Need =
  { readonly kind: 'nothing' } | { readonly kind: 'all' | 'any'; readonly of: readonly string[] }

/**
 * Maps each node of a deadlock to all nodes of its cycle. A node that merely waits for a cycle is not
 * in it: it continues once the cycle is broken.
 */
export function findCycles(needs: ReadonlyMap<string, Need>): Map<string, readonly string[]> {
  const stuck = findStuck(needs)
  const nextOf = (id: string) => ofNeed(needs.get(id)!).filter((next) => stuck.has(next))
  const circles = new Map<string, readonly string[]>()
  for (const part of stronglyConnected(stuck, nextOf)) {
    const [only = ''] = part
    if (part.length === 1 && !nextOf(only).includes(only)) continue
    for (const id of part) circles.set(id, part)
  }
  return circles
}

/** Releases the stuck candidates, so that nodes that wait for them may continue; returns them. */
export function releaseStuck(needs: Map<string, Need>, candidates: readonly string[]): string[] {
  const stuck = findStuck(needs)
  const found = candidates.filter((id) => stuck.has(id))
  for (const id of found) needs.set(id, { kind: 'nothing' })
  return found
}

/** The nodes that remain when all that can continue are removed. */
function findStuck(needs: ReadonlyMap<string, Need>): Set<string> {
  const stuck = new Set(needs.keys())
  const waiters = new Map<string, string[]>()
  /** How many nodes each one still waits for. */
  const open = new Map<string, number>()
  const free: string[] = []
  for (const [id, need] of needs) {
    const others = ofNeed(need).filter((other) => needs.has(other))
    const isAny = need.kind === 'any'
    const hasFree = isAny && others.length < ofNeed(need).length
    open.set(id, isAny ? 1 : others.length)
    for (const other of others) push(waiters, other, id)
    if (hasFree || open.get(id) === 0) free.push(id)
  }
  for (let id = free.pop(); id !== undefined; id = free.pop()) {
    if (!stuck.delete(id)) continue
    for (const waiter of waiters.get(id) ?? []) {
      const left = open.get(waiter)! - 1
      open.set(waiter, left)
      if (left <= 0) free.push(waiter)
    }
  }
  return stuck
}

function ofNeed(need: Need): readonly string[] {
  return need.kind === 'nothing' ? [] : need.of
}

function push(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}

interface Visit {
  readonly id: string
  readonly order: number
  /** The lowest order that can be reached from it and is still open. */
  low: number
  readonly next: Iterator<string>
}

/**
 * Tarjan's strongly connected components, without recursion, because a long chain would overflow the
 * stack.
 */
function stronglyConnected(
  ids: Iterable<string>,
  nextOf: (id: string) => readonly string[],
): string[][] {
  const parts: string[][] = []
  const visits = new Map<string, Visit>()
  const open: string[] = []
  const isOpen = new Set<string>()
  const begin = (id: string): Visit => {
    const order = visits.size
    const visit = { id, order, low: order, next: nextOf(id)[Symbol.iterator]() }
    visits.set(id, visit)
    open.push(id)
    isOpen.add(id)
    return visit
  }
  const close = ({ id }: Visit) => {
    const part = open.splice(open.lastIndexOf(id))
    for (const member of part) isOpen.delete(member)
    parts.push(part)
  }
  for (const root of ids) {
    if (visits.has(root)) continue
    const path = [begin(root)]
    for (let visit = path.at(-1); visit !== undefined; visit = path.at(-1)) {
      const { value, done } = visit.next.next()
      if (done === true) {
        path.pop()
        const above = path.at(-1)
        if (above !== undefined) above.low = Math.min(above.low, visit.low)
        if (visit.low === visit.order) close(visit)
      } else if (!visits.has(value)) path.push(begin(value))
      else if (isOpen.has(value)) visit.low = Math.min(visit.low, visits.get(value)!.order)
    }
  }
  return parts
}
