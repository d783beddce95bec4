import { readRuns } from '../../records/journal/runs.ts'
import { isPresentable } from './foreign.ts'
import type { Places } from './place.ts'
import { withQueue, type QueuedBrief } from './with-queue.ts'

/** The runs of a project, the newest first, and the ids of those whose record cannot be read. */
export function readAllRuns(places: Places) {
  const { runs: all, broken: unread } = readRuns(places)
  const runs: QueuedBrief[] = all.filter(isPresentable).map(withQueue)
  const broken = [...unread, ...all.filter((run) => !isPresentable(run)).map(({ id }) => id)]
  return { root: places.roots[0], runs, broken }
}
