import { watch } from 'node:fs'
import { firstOf } from '../../base/first-of.ts'
import type { RunEvent } from '../../events/schema.ts'
import { readEvents } from '../../journal/read-run.ts'

/** How often the journal is looked at where no notice comes, as on some network drives. */
const POLL_MS = 1000

/** Why there is nothing more to come. */
export type FollowEnd = 'read' | 'ended' | 'dead'

/**
 * All events of a journal, and, where it is followed, those that come while somebody drives the run.
 * `isDriven` is asked before each reading, so that nothing of what a driver wrote last is missed.
 */
export async function* followEvents(
  folder: string,
  isFollowed: boolean,
  isDriven: () => boolean,
): AsyncGenerator<RunEvent, FollowEnd> {
  const changes = isFollowed ? watchFolder(folder) : undefined
  let [from, hasEnded] = [0, false]
  try {
    for (;;) {
      const wasDriven = isDriven()
      for (const { event, offset } of readEvents(folder, from)) {
        from = offset
        if (event.type === 'run_ended') hasEnded = true
        if (event.type === 'run_resumed') hasEnded = false
        yield event
      }
      if (changes === undefined) return 'read'
      if (hasEnded) return 'ended'
      if (!wasDriven) return 'dead'
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
