import { Attempts, type Attempt } from '../../records/events/attempts.ts'
import type { StepState } from '../../records/events/step-state.ts'
import { keyOfScope } from '../../records/events/tree.ts'
import { readEvents } from '../../records/journal/read-run.ts'
import type { RunBrief } from '../../records/journal/runs.ts'

type Recorded = Pick<RunBrief, 'folder' | 'holder' | 'lostMs'>

/** All attempts of these steps, or those of one round, in the order of their starts. */
export function readAttempts(
  run: Recorded,
  steps: readonly StepState[],
  round?: number,
): readonly Attempt[] {
  const keys = new Set(steps.map(({ key }) => key))
  return readHistory(run).attempts.filter(
    (each) => keys.has(keyOfScope(each.scope)) && (round ?? each.round) === each.round,
  )
}

/** The attempts of a run, its waits, and what it spent when. */
export function readHistory({ folder, holder, lostMs }: Recorded) {
  const found = new Attempts()
  for (const { event } of readEvents(folder)) found.note(event)
  const attempts = found.list(holder !== undefined, lostMs)
  return { attempts, waits: found.waits, costs: found.costs }
}
