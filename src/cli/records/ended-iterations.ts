import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import type { EventOf } from '../../events/event.ts'
import { beginningOf, beginsWith, parseEvent } from '../../journal/event-lines.ts'
import { LineReader } from '../../journal/line-reader.ts'

const BEGINNING = beginningOf('iteration_ended')

/**
 * Every end of an iteration in a journal. All other lines, of which there may be hundreds of
 * megabytes, are passed over by how they begin: nobody decodes them.
 */
export function* readEndedIterations(folder: string): Generator<EventOf<'iteration_ended'>> {
  const fd = openSync(join(folder, 'events.ndjson'), 'r')
  try {
    const lines = new LineReader(fd)
    while (lines.next()) {
      if (!lines.isEnded || !beginsWith(lines.bytes, lines.from, lines.to, BEGINNING)) continue
      // A line that somebody has spoilt costs only itself.
      const event = parseEvent(lines.text)
      if (event?.type === 'iteration_ended') yield event
    }
  } finally {
    closeSync(fd)
  }
}
