import { UserError } from '../base/errors.ts'
import { makeRunId, randomLetters } from '../base/ids.ts'
import { makeStamp, type Stamp } from '../records/events/event.ts'

/** The id of a new run, and the stamp for its events. */
export function makeIdentity(): { readonly run: string; readonly stamp: Stamp } {
  const run = makeRunId(new Date())
  return { run, stamp: makeStamp(run, `w-${randomLetters(6)}`) }
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
