/** For which tasks a task waits. */
export type Edges = (id: string) => readonly string[]

/** The shortest way from one task to another, both included. */
export function findWay(from: string, to: string, edges: Edges): string[] | undefined {
  const cameFrom = new Map<string, string | undefined>([[from, undefined]])
  for (const at of cameFrom.keys()) {
    if (at === to) return wayBack(at, cameFrom)
    for (const next of edges(at)) if (!cameFrom.has(next)) cameFrom.set(next, at)
  }
  return undefined
}

function wayBack(end: string, cameFrom: ReadonlyMap<string, string | undefined>): string[] {
  const way: string[] = []
  for (let at: string | undefined = end; at !== undefined; at = cameFrom.get(at)) way.unshift(at)
  return way
}

/**
 * Circles, each as a way from a task back to itself. The last step of each closes it: without these
 * steps there is no circle left. Begun with the oldest task, it is the younger one's step.
 */
export function findCycles(ids: Iterable<string>, edges: Edges): string[][] {
  const finished = new Set<string>()
  return [...ids].flatMap((id) => (finished.has(id) ? [] : cyclesFrom(id, edges, finished)))
}

/** With a list instead of recursion: a chain of tasks may be longer than the stack is deep. */
function cyclesFrom(root: string, edges: Edges, finished: Set<string>): string[][] {
  const cycles: string[][] = []
  const path = new Map([[root, edges(root).values()]])
  let at: string | undefined = root
  const trail = [root]
  while (at !== undefined) {
    const { value: next, done } = path.get(at)!.next()
    if (done === true) {
      finished.add(at)
      path.delete(at)
      trail.pop()
      at = trail.at(-1)
    } else if (path.has(next)) {
      cycles.push([...trail.slice(trail.indexOf(next)), next])
    } else if (!finished.has(next)) {
      path.set(next, edges(next).values())
      trail.push(next)
      at = next
    }
  }
  return cycles
}
