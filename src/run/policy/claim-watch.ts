import type { Place } from '../place.ts'
import type { Ports } from '../ports.ts'

/** Agents claim tasks in processes of their own, which tell nobody. */
const POLL_MS = 1000

/** Reports the tasks that an iteration claims, until the returned function is called. */
export function watchClaims(
  step: string,
  place: Place,
  { tasks, emit }: Pick<Ports, 'tasks' | 'emit'>,
): () => void {
  const known = new Set<string>()
  let timer: Timer | undefined
  let isOver = false
  const look = async () => {
    for (const { id, title } of await tasks.claimed(step, place.iteration)) {
      if (isOver || known.has(id)) continue
      known.add(id)
      emit({ type: 'claimed', ...place, id, title })
    }
    if (!isOver) timer = setTimeout(() => void look(), POLL_MS)
  }
  timer = setTimeout(() => void look(), POLL_MS)
  return () => {
    isOver = true
    clearTimeout(timer)
  }
}
