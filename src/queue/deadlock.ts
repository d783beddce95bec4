import { connected } from './connected.ts'

/** What an agent, or one of its waits, needs to go on. */
export type Need =
  { readonly kind: 'nothing' } | { readonly kind: 'all' | 'any'; readonly of: readonly string[] }

/**
 * For everything that can never go on and waits for itself, by whatever way around: all that wait in
 * the same circle. Who merely waits for such a circle is not in it: it goes on once they are told.
 */
export function findCircles(needs: ReadonlyMap<string, Need>): Map<string, readonly string[]> {
  const stuck = findStuck(needs)
  const nextOf = (id: string) => ofNeed(needs.get(id)!).filter((next) => stuck.has(next))
  const circles = new Map<string, readonly string[]>()
  for (const part of connected(stuck, nextOf)) {
    const [only = ''] = part
    if (part.length === 1 && !nextOf(only).includes(only)) continue
    for (const id of part) circles.set(id, part)
  }
  return circles
}

/** Those of the candidates that can never go on, are let go of: then who waits for them need not be stuck. */
export function letGo(needs: Map<string, Need>, candidates: readonly string[]): string[] {
  const stuck = findStuck(needs)
  const found = candidates.filter((id) => stuck.has(id))
  for (const id of found) needs.set(id, { kind: 'nothing' })
  return found
}

/** What is left when all that can go on has gone; each need is looked at once for each that it waits for. */
function findStuck(needs: ReadonlyMap<string, Need>): Set<string> {
  const stuck = new Set(needs.keys())
  const waiters = new Map<string, string[]>()
  /** Of how many each still waits before it can go on. */
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
