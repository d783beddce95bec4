import { awakeMs } from '../../base/awake.ts'
import { firstCause } from '../../base/first-cause.ts'
import type { UserError } from '../../base/errors.ts'
import { QueueError } from '../../queue/refusal.ts'

const PAUSE_MS = 1000
/** How long a result is kept while the disk is full. */
const PATIENCE_MS = 10 * 60_000

const RETRY_NOTE = `Results are kept in memory and no tasks start until this is fixed; retrying for ${PATIENCE_MS / 60_000} minutes.`

const TEMPORARY = ['disk_full', 'read_only', 'failing', 'busy']

/** Whether a retry may succeed. */
function isTemporary(error: unknown): error is QueueError {
  return error instanceof QueueError && TEMPORARY.includes(error.refusal.kind)
}

/** Whether the store failed, as opposed to refusing the request. */
export function isStoreFailure(error: unknown): error is QueueError {
  return error instanceof QueueError && 'place' in error.refusal
}

/** Whether this store can no longer be used. */
export function isStoreLost(error: unknown): error is QueueError {
  return isStoreFailure(error) && !isTemporary(error)
}

export function isStoreGone(error: unknown): error is QueueError {
  return error instanceof QueueError && error.refusal.kind === 'gone'
}

/** Retries until the store works again, so that a short failure loses no result. */
export async function retryStoreFailures<Result>(
  work: () => Promise<Result>,
  stop: AbortSignal,
  warnings: StoreWarnings,
  patienceMs = PATIENCE_MS,
): Promise<Result> {
  const end = awakeMs() + patienceMs
  for (;;) {
    try {
      const result = await work()
      warnings.worked(work)
      return result
    } catch (error) {
      if (isTemporary(error)) warnings.failed(work, error)
      if (isTemporary(error) && !stop.aborted && awakeMs() <= end) {
        await firstCause({ pause: PAUSE_MS, stop })
        continue
      }
      warnings.gaveUp(work)
      throw error
    }
  }
}

/** A background job by its name, or the work whose result is waiting to be written. */
type Who = string | object

/** Warns once about each store failure, and once when it is resolved. */
export class StoreWarnings {
  readonly #warn: (text: string) => void
  readonly #met = new Map<string, Set<Who>>()

  constructor(warn: (text: string) => void) {
    this.#warn = warn
  }

  /** `who` will retry. */
  failed(who: Who, error: UserError): void {
    const { message, hint = '' } = error
    const met = this.#met.get(message)
    if (met !== undefined) return void met.add(who)
    this.#met.set(message, new Set([who]))
    this.#warn([message, hint, isTemporary(error) ? RETRY_NOTE : ''].join(' ').trimEnd())
  }

  worked(who: Who): void {
    this.#leave(who, (message) => this.#warn(`The queue store works again. Resolved: ${message}`))
  }

  /** `who` will not retry. */
  gaveUp(who: Who): void {
    this.#leave(who, () => undefined)
  }

  #leave(who: Who, isOver: (message: string) => void): void {
    for (const [message, met] of this.#met) {
      if (!met.delete(who)) continue
      // A successful write proves that background jobs will work too, even before they retry.
      if ([...met].some((each) => typeof who === 'string' || typeof each !== 'string')) continue
      this.#met.delete(message)
      isOver(message)
    }
  }
}
