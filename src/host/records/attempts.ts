import { Attempts, type Attempt } from '../../records/events/attempts.ts'
import { readEvents } from '../../records/journal/read-run.ts'
import type { RunBrief } from '../../records/journal/runs.ts'

type Recorded = Pick<RunBrief, 'folder' | 'holder' | 'lostMs'>

/** All attempts of a run, in the order of their starts. */
export function readAttempts(run: Recorded): readonly Attempt[] {
  return readHistory(run).attempts
}

/** The attempts of a run, its waits, and what it spent when. */
export function readHistory({ folder, holder, lostMs }: Recorded) {
  const found = new Attempts()
  for (const { event } of readEvents(folder)) found.note(event)
  const attempts = found.list(holder !== undefined, lostMs)
  return { attempts, waits: found.waits, costs: found.costs }
}
