import { watch } from 'node:fs'
import { firstCause } from '../../base/first-cause.ts'
import type { RunEvent } from '../../records/events/schema.ts'
import { readEvents } from '../../records/journal/read-run.ts'

/** How often the journal is looked at where no notice comes, as on some network drives. */
const POLL_MS = 1000

/** Why there is nothing more to come. */
export type FollowEnd = 'read' | 'ended' | 'dead'

/**
 * All events of a journal and, if it is followed, those that arrive while a process runs it
 * or its queue. `lifeOfDriver` is called before each read, so that nothing the process
 * wrote last is missed; it returns undefined after a clean end.
 */
export async function* followEvents(
  folder: string,
  isFollowed: boolean,
  lifeOfDriver: () => 'alive' | 'dead' | 'unknown' | undefined,
): AsyncGenerator<RunEvent, FollowEnd> {
  const changes = isFollowed ? watchFolder(folder) : undefined
  let [from, hasEnded, hasCrew] = [0, false, false]
  try {
    for (;;) {
      const life = lifeOfDriver()
      for (const { event, offset } of readEvents(folder, from)) {
        from = offset
        if (event.type === 'run_ended') hasEnded = true
        if (event.type === 'run_resumed') hasEnded = false
        if (event.type === 'crew_started') hasCrew = true
        yield event
      }
      if (changes === undefined) return 'read'
      const isDead = life === 'dead' && (hasCrew || !hasEnded)
      if (isDead || (life === undefined && !hasEnded)) return 'dead'
      if (life === undefined || life === 'dead') return 'ended'
      await changes.next()
    }
  } finally {
    changes?.close()
  }
}

/** Remembers a change until the next wait. */
function watchFolder(folder: string): { next(): Promise<void>; close(): void } {
  let changed = Promise.withResolvers<void>()
  const watcher = tryToWatch(folder, () => changed.resolve())
  return {
    async next() {
      await firstCause({ changed: changed.promise, late: POLL_MS })
      changed = Promise.withResolvers()
    },
    close: () => watcher?.close(),
  }
}

/** A system may have no more notices to give; then looking now and then has to do. */
function tryToWatch(folder: string, onChange: () => void) {
  try {
    return watch(folder, onChange).on('error', onChange)
  } catch {
    return undefined
  }
}
