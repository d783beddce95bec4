import { join } from 'node:path'
import { iterationPath, taskPath } from '../journal/places.ts'
import type { Place } from '../run/place.ts'

/** Where the conversation of the built-in agent is in a record: one for all attempts at an iteration. */
export function conversationIn(record: string | undefined, place: Place): string | undefined {
  if (record === undefined) return undefined
  const { step, round, iteration, task, attempt } = place
  const path =
    task === undefined ? iterationPath({ step, round, iteration }) : taskPath(task, attempt)
  return join(record, `${path}.conversation.ndjson`)
}
