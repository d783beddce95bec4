/** The ids that a task leads to, for example its dependencies. */
export type Edges = (id: string) => readonly string[]

/** The cycle that new edges of a task would close. */
export function findCycleThrough(
  id: string,
  targets: readonly string[],
  edges: Edges,
): string[] | undefined {
  for (const target of targets) {
    const path = findPath(target, id, edges)
    if (path !== undefined) return [id, ...path]
  }
  return undefined
}

/** The shortest path from one task to another, including both. */
function findPath(from: string, to: string, edges: Edges): string[] | undefined {
  const cameFrom = new Map<string, string | undefined>([[from, undefined]])
  for (const at of cameFrom.keys()) {
    if (at === to) return tracePath(at, cameFrom)
    for (const next of edges(at)) if (!cameFrom.has(next)) cameFrom.set(next, at)
  }
  return undefined
}

function tracePath(end: string, cameFrom: ReadonlyMap<string, string | undefined>): string[] {
  const path: string[] = []
  for (let at: string | undefined = end; at !== undefined; at = cameFrom.get(at)) path.unshift(at)
  return path
}

/**
 * Cycles, each as a path from a task back to itself. Removing the last edge of each leaves no cycle. If the
 * ids are sorted by age, that edge belongs to the younger task.
 */
export function* findCycles(ids: Iterable<string>, edges: Edges): Generator<string[], void> {
  const finished = new Set<string>()
  for (const id of ids) if (!finished.has(id)) yield* cyclesFrom(id, edges, finished)
}

/** Not recursive: a chain of tasks may be longer than the stack is deep. */
function* cyclesFrom(root: string, edges: Edges, finished: Set<string>): Generator<string[], void> {
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
      yield [...trail.slice(trail.indexOf(next)), next]
    } else if (!finished.has(next)) {
      path.set(next, edges(next).values())
      trail.push(next)
      at = next
    }
  }
}
