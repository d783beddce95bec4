import { closeSync } from 'node:fs'
import { lstatOf } from '../../base/files.ts'
import type { EventOf } from '../../records/events/event.ts'
import type { RunEvent } from '../../records/events/schema.ts'
import { prefixOf, hasPrefix, parseEvent } from '../../records/journal/event-lines.ts'
import { openIn } from '../../records/journal/inside.ts'
import { LineReader } from '../../records/journal/line-reader.ts'
import { EVENTS, eventsPath } from '../../records/journal/read-run.ts'

/** Events that carry usage. */
export type Ended = EventOf<'iteration_ended'> | EventOf<'task_ended'>

/** Every end of an iteration or of a task in a journal. */
export function readEndedIterations(folder: string): Generator<Ended> {
  return readEventsOf(folder, ['iteration_ended', 'task_ended'])
}

/**
 * The events of some types in a journal. All other lines, of which there may be hundreds of
 * megabytes, are skipped by their beginning without being decoded.
 */
export function* readEventsOf<Type extends RunEvent['type']>(
  folder: string,
  types: readonly Type[],
): Generator<EventOf<Type>> {
  const beginnings = types.map(prefixOf)
  const isWanted = (event: RunEvent): event is EventOf<Type> =>
    types.some((type) => type === event.type)
  if (lstatOf(eventsPath(folder))?.isFile() !== true) return
  const fd = openIn(folder, EVENTS)
  try {
    const lines = new LineReader(fd)
    while (lines.next()) {
      const { bytes, from, to } = lines
      if (!lines.isEnded || !beginnings.some((each) => hasPrefix(bytes, from, to, each))) continue
      // A damaged line is skipped.
      const event = parseEvent(lines.text)
      if (event !== undefined && isWanted(event)) yield event
    }
  } finally {
    closeSync(fd)
  }
}
