import { makeRunId, randomLetters } from '../base/ids.ts'
import { makeStamp, type Stamp } from '../records/events/event.ts'

/** Who this run is, and what its events are stamped with. */
export function makeIdentity(): { readonly run: string; readonly stamp: Stamp } {
  const run = makeRunId(new Date())
  return { run, stamp: makeStamp(run, `w-${randomLetters(6)}`) }
}
