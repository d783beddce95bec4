import { join } from 'node:path'
import { errorCode } from '../base/errors.ts'
import { withFileIn } from '../base/places.ts'
import { iterationPath, taskPath } from '../records/journal/paths.ts'
import type { Place } from '../run/chain/place.ts'

/** Where the conversation of the built-in agent is in a record: one for all attempts at an iteration. */
export function conversationIn(record: string | undefined, place: Place): string | undefined {
  if (record === undefined) return undefined
  const { step, round, iteration, task, attempt } = place
  const path =
    task === undefined ? iterationPath({ step, round, iteration }) : taskPath(task, attempt)
  const name = `${path}.conversation.ndjson`
  try {
    withFileIn(record, name, () => undefined)
  } catch (error) {
    // Nothing is written through a link out of the record; the writer reports a full disk.
    if (errorCode(error) === undefined) return undefined
  }
  return join(record, name)
}
