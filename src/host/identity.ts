import { UserError } from '../base/errors.ts'
import { makeRunIdAfter, randomLetters } from '../base/ids.ts'
import { makeStamp, type Stamp } from '../records/events/event.ts'
import type { RecordPlaces } from '../records/journal/record-folder.ts'
import { newestOwnId } from '../records/journal/runs.ts'

/** The id of a new run that sorts after the runs recorded in these places, and the stamp for its events. */
export function makeIdentity(places?: RecordPlaces): {
  readonly run: string
  readonly stamp: Stamp
} {
  const run = makeRunIdAfter(places === undefined ? undefined : newestOwnId(places), new Date())
  return { run, stamp: stampFor(run) }
}

/** The stamp of a new process that works on a run, after the events that it has. */
export function stampFor(run: string, events = 0): Stamp {
  return makeStamp(run, `w-${randomLetters(6)}`, events + 1)
}

/** Deeper nesting means that a chain calls itself. */
const DEEPEST = 16

/** Refuses a run that is nested too deeply; `path` lists the runs around it. */
export function checkDepth(path = ''): void {
  const depth = path === '' ? 0 : path.split(':').length
  if (depth < DEEPEST) return
  throw new UserError(
    `Runs are nested too deeply (${depth} levels).`,
    'Look for an agent that starts its own chain.',
  )
}
