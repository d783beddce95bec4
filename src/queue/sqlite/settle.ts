import { mayRetry, pauseAfter } from '../limits.ts'
import type { RetryDelay, Remains, FinishedAttempt, Settled } from '../store.ts'
import type { Claim, End, FollowUp } from '../task.ts'
import { retryTask } from './retry.ts'
import { heldBy } from './claim.ts'
import { endTask } from './end.ts'
import { addHistory } from './history.ts'
import type { StoreContext, TaskRow } from './rows.ts'
import { checkSize } from './rows.ts'
import { markDeadlocks } from './waiting.ts'

export function settle(
  context: StoreContext,
  claim: Claim,
  end: End,
  later?: RetryDelay,
  follow?: readonly FollowUp[],
): Settled {
  const row = heldBy(context, claim)
  if (row === undefined) return 'fenced'
  checkSize(context, 'result', end.success ? end.output : end.error + (end.partialOutput ?? ''))
  const settled = settleAttempt(context, row, end, { later, follow })
  markDeadlocks(context, row.run)
  return settled
}

/** Ends the running attempt of a task, and the task with it unless it is tried again. */
export function settleAttempt(
  context: StoreContext,
  row: TaskRow,
  end: End,
  { later, follow }: { readonly later?: RetryDelay | undefined } & Pick<Remains, 'follow'> = {},
): 'ended' | 'retrying' {
  const last = asCancelled(row, end)
  const isFree = later !== undefined && !last.success && last.class !== 'cancelled'
  const willRetry = isFree || (!last.success && mayRetry(last.class, row.attempt, row.retry))
  const how = last.success ? 'success' : last.class
  addHistory(context, row.run, 'over', row.id, row.attempt, willRetry ? `${AGAIN}${how}` : how)
  if (willRetry && !isFree) return retryTask(context, row, pauseAfter(row.attempt, context.times))
  // One more than it had: this one does not count.
  if (isFree) return retryTask(context, { ...row, retry: row.retry + 1 }, later.inMs)
  endTask(context, row, last, follow)
  return 'ended'
}

const AGAIN = 'again '

export function finishedAttempts({ db }: StoreContext, run: string): FinishedAttempt[] {
  const lines = db.all<{ task: string; attempt: number; detail: string }>(
    `select subject as task, attempt, detail from history where run = ? and what = 'over'
     order by seq`,
    run,
  )
  return lines.map(({ task, attempt, detail }) => {
    const willRetry = detail.startsWith(AGAIN)
    const how = (willRetry ? detail.slice(AGAIN.length) : detail) as FinishedAttempt['how']
    return { task, attempt, how, willRetry }
  })
}

/** What was told to stop and failed, failed because of that. */
function asCancelled(row: TaskRow, end: End): End {
  if (row.cancelled === null || end.success) return end
  const error = end.class === 'cancelled' ? end.error : row.cancelled
  return { ...end, class: 'cancelled', error }
}

export function postpone(
  context: StoreContext,
  run: string,
  ids: readonly string[],
  ms: number,
): void {
  const now = context.clock.now()
  context.db.run(
    `update task set not_before = ?2, paused_at = ?3 where run = ?1 and state = 'ready'
     and id in (select value from json_each(?4))`,
    run,
    ms > 0 ? now + ms : 0,
    now,
    JSON.stringify(ids),
  )
}
