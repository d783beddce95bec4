import { join } from 'node:path'
import { errorCode } from '../base/errors.ts'
import { withFileIn } from '../base/places.ts'
import { iterationPath, taskPath } from '../records/journal/paths.ts'
import type { Place } from '../run/place.ts'

/** The path of a native agent's conversation in a record; all attempts at an iteration share one. */
export function conversationIn(record: string | undefined, place: Place): string | undefined {
  if (record === undefined) return undefined
  const { scope, step, round, iteration, task, attempt } = place
  const path =
    task === undefined ? iterationPath({ step, scope, round, iteration }) : taskPath(task, attempt)
  const name = `${path}.conversation.ndjson`
  try {
    withFileIn(record, name, () => undefined)
  } catch (error) {
    // A link points outside the record. The writer reports system errors, such as a full disk.
    if (errorCode(error) === undefined) return undefined
  }
  return join(record, name)
}
