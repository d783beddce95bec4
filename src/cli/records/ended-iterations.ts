import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { statOf } from '../../base/files.ts'
import type { EventOf } from '../../events/event.ts'
import type { RunEvent } from '../../events/schema.ts'
import { beginningOf, beginsWith, parseEvent } from '../../journal/event-lines.ts'
import { LineReader } from '../../journal/line-reader.ts'

/** What tells of what an agent has taken. */
export type Ended = EventOf<'iteration_ended'> | EventOf<'task_ended'>

/** Every end of an iteration or of a task in a journal. */
export function readEndedIterations(folder: string): Generator<Ended> {
  return readEventsOf(folder, ['iteration_ended', 'task_ended'])
}

/**
 * The events of some types in a journal. All other lines, of which there may be hundreds of
 * megabytes, are passed over by how they begin: nobody decodes them.
 */
export function* readEventsOf<Type extends RunEvent['type']>(
  folder: string,
  types: readonly Type[],
): Generator<EventOf<Type>> {
  const beginnings = types.map(beginningOf)
  const isWanted = (event: RunEvent): event is EventOf<Type> =>
    types.some((type) => type === event.type)
  const path = join(folder, 'events.ndjson')
  if (statOf(path) === undefined) return
  const fd = openSync(path, 'r')
  try {
    const lines = new LineReader(fd)
    while (lines.next()) {
      const { bytes, from, to } = lines
      if (!lines.isEnded || !beginnings.some((each) => beginsWith(bytes, from, to, each))) continue
      // A line that somebody has spoilt costs only itself.
      const event = parseEvent(lines.text)
      if (event !== undefined && isWanted(event)) yield event
    }
  } finally {
    closeSync(fd)
  }
}
