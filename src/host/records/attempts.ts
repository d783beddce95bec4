import { Attempts, type Attempt } from '../../records/events/attempts.ts'
import { readEvents } from '../../records/journal/read-run.ts'
import type { RunBrief } from '../../records/journal/runs.ts'

/** All attempts of a run, in the order of their starts. */
export function readAttempts({
  folder,
  holder,
  lostMs,
}: Pick<RunBrief, 'folder' | 'holder' | 'lostMs'>): readonly Attempt[] {
  const attempts = new Attempts()
  for (const { event } of readEvents(folder)) attempts.note(event)
  return attempts.list(holder !== undefined, lostMs)
}
