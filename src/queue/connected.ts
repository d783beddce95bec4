interface Visit {
  readonly id: string
  readonly order: number
  /** The earliest that can be reached from it and is still open. */
  low: number
  readonly next: Iterator<string>
}

/**
 * Parts of a graph in which each can be reached from each (Tarjan's way: every edge is looked at once),
 * without recursion, which a long chain would break.
 */
export function connected(
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
