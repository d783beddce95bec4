import { existsSync, renameSync } from 'node:fs'
import { countFile } from './history-count.ts'

/**
 * Moves a store and all that is beside it out of the way, so that a new one can be made; nothing is
 * deleted. Returns its new path; undefined where nothing was there.
 */
export function setAside(place: string): string | undefined {
  let number = 1
  while (existsSync(`${place}.damaged-${number}`)) number += 1
  const kept = `${place}.damaged-${number}`
  const moves = [
    ...['-wal', '-shm', '-bell'].map((end) => [place + end, kept + end] as const),
    [countFile(place), countFile(kept)] as const,
    // Last: if it is interrupted, the next one goes on under the same name.
    [place, kept] as const,
  ].filter(([from]) => existsSync(from))
  for (const [from, to] of moves) renameSync(from, to)
  return moves.length === 0 ? undefined : kept
}
