import { awakeMs } from '../base/awake.ts'
import { firstOf } from '../base/first-of.ts'
import { QueueError } from '../queue/refusal.ts'
import type { Troubles } from './troubles.ts'

const PAUSE_MS = 1000
/** For so long a full disk is waited for before a result is given up. */
const PATIENCE_MS = 10 * 60_000

/** What is said with the trouble, once. */
export const PATIENCE_WORDS = `Agents that are done are not lost: what they have said is written once that is mended; it is tried for ${PATIENCE_MS / 60_000} minutes.`

const PASSING = ['disk_full', 'read_only', 'broken', 'busy']

/** Whether the same may work a little later. */
export function isPassing(error: unknown): error is QueueError {
  return error instanceof QueueError && PASSING.includes(error.refusal.kind)
}

/** Whether the store itself is to blame, and not what was asked of it. */
export function isStoreTrouble(error: unknown): error is QueueError {
  return error instanceof QueueError && 'place' in error.refusal
}

/** Whether the store is not there any more. */
export function isStoreGone(error: unknown): error is QueueError {
  return error instanceof QueueError && error.refusal.kind === 'gone'
}

/** Does again what the store could not do: nothing that was worked for is thrown away at once. */
export async function despiteTrouble<Result>(
  work: () => Promise<Result>,
  stop: AbortSignal,
  troubles: Troubles,
): Promise<Result> {
  const end = awakeMs() + PATIENCE_MS
  for (;;) {
    try {
      const result = await work()
      troubles.worked(work)
      return result
    } catch (error) {
      if (isPassing(error)) troubles.failed(work, error)
      if (isPassing(error) && !stop.aborted && awakeMs() <= end) {
        await firstOf({ pause: PAUSE_MS, stop })
        continue
      }
      troubles.gaveUp(work)
      throw error
    }
  }
}
