import { watch } from 'node:fs'
import { firstOf } from '../../base/first-of.ts'
import type { RunEvent } from '../../events/schema.ts'
import { readEvents } from '../../journal/read-run.ts'

/** How often the journal is looked at where no notice comes, as on some network drives. */
const POLL_MS = 1000

/** Why there is nothing more to come. */
export type FollowEnd = 'read' | 'ended' | 'dead'

/**
 * All events of a journal, and, where it is followed, those that come while somebody drives the run
 * or works off its queue. `lifeOfDriver` is asked before each reading, so that nothing of what he
 * wrote last is missed; undefined where he has let go of it in order.
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

/** Remembers a change until somebody waits for one. */
function watchFolder(folder: string): { next(): Promise<void>; close(): void } {
  let changed = Promise.withResolvers<void>()
  const watcher = tryToWatch(folder, () => changed.resolve())
  return {
    async next() {
      await firstOf({ changed: changed.promise, late: POLL_MS })
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
