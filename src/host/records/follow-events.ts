import type { RunEvent } from '../../records/events/schema.ts'
import { readEvents } from '../../records/journal/read-run.ts'

/** How often a followed journal is read. */
const POLL_MS = 200

/** Why no more events will come. */
export type FollowEnd = 'read' | 'ended' | 'dead'

/**
 * All events of a journal and, if it is followed, those that arrive while a process runs it
 * or its queue. `lifeOfDriver` is called before each read, so that nothing the process
 * wrote last is missed; it returns undefined after a clean end. `onRead` is called when all events so far
 * were read.
 */
export async function* followEvents(
  folder: string,
  isFollowed: boolean,
  lifeOfDriver: () => 'alive' | 'dead' | 'unknown' | undefined,
  onRead: () => void | Promise<void> = () => undefined,
): AsyncGenerator<RunEvent, FollowEnd> {
  let [from, hasEnded, hasQueueWorker] = [0, false, false]
  for (;;) {
    const life = lifeOfDriver()
    for (const { event, offset } of readEvents(folder, from)) {
      from = offset
      if (event.type === 'run_ended') hasEnded = true
      if (event.type === 'run_resumed') hasEnded = false
      if (event.type === 'crew_started') hasQueueWorker = true
      yield event
    }
    if (!isFollowed) return 'read'
    await onRead()
    const isDead = life === 'dead' && (hasQueueWorker || !hasEnded)
    if (isDead || (life === undefined && !hasEnded)) return 'dead'
    if (life === undefined || life === 'dead') return 'ended'
    await Bun.sleep(POLL_MS)
  }
}
