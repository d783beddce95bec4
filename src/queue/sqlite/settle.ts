import { isRetried, pauseAfter } from '../limits.ts'
import type { Later, Left, Over, Settled } from '../store.ts'
import type { Claim, End, FollowUp } from '../task.ts'
import { tryAgain } from './again.ts'
import { heldBy } from './claim.ts'
import { endTask } from './end.ts'
import { note } from './note.ts'
import type { Books, TaskRow } from './rows.ts'
import { refuseBig } from './rows.ts'
import { markDeadlocks } from './waiting.ts'

export function settle(
  books: Books,
  claim: Claim,
  end: End,
  later?: Later,
  follow?: readonly FollowUp[],
): Settled {
  const row = heldBy(books, claim)
  if (row === undefined) return 'fenced'
  refuseBig(books, 'result', end.success ? end.output : end.error + (end.partialOutput ?? ''))
  const settled = settleAttempt(books, row, end, { later, follow })
  markDeadlocks(books, row.run)
  return settled
}

/** Ends the running attempt of a task, and the task with it unless it is tried again. */
export function settleAttempt(
  books: Books,
  row: TaskRow,
  end: End,
  { later, follow }: { readonly later?: Later | undefined } & Pick<Left, 'follow'> = {},
): 'ended' | 'retrying' {
  const last = asCancelled(row, end)
  const isFree = later !== undefined && !last.success && last.class !== 'cancelled'
  const isAgain = isFree || (!last.success && isRetried(last.class, row.attempt, row.retry))
  const how = last.success ? 'success' : last.class
  note(books, row.run, 'over', row.id, row.attempt, isAgain ? `${AGAIN}${how}` : how)
  if (isAgain && !isFree) return tryAgain(books, row, pauseAfter(row.attempt, books.times))
  // One more than it had: this one does not count.
  if (isFree) return tryAgain(books, { ...row, retry: row.retry + 1 }, later.inMs)
  endTask(books, row, last, follow)
  return 'ended'
}

const AGAIN = 'again '

export function over({ db }: Books, run: string): Over[] {
  const lines = db.all<{ task: string; attempt: number; detail: string }>(
    `select subject as task, attempt, detail from history where run = ? and what = 'over'
     order by seq`,
    run,
  )
  return lines.map(({ task, attempt, detail }) => {
    const isAgain = detail.startsWith(AGAIN)
    const how = (isAgain ? detail.slice(AGAIN.length) : detail) as Over['how']
    return { task, attempt, how, isAgain }
  })
}

/** What was told to stop and failed, failed because of that. */
function asCancelled(row: TaskRow, end: End): End {
  if (row.cancelled === null || end.success) return end
  const error = end.class === 'cancelled' ? end.error : row.cancelled
  return { ...end, class: 'cancelled', error }
}

export function postpone(books: Books, run: string, ids: readonly string[], ms: number): void {
  const now = books.clock.now()
  books.db.run(
    `update task set not_before = ?2, paused_at = ?3 where run = ?1 and state = 'ready'
     and id in (select value from json_each(?4))`,
    run,
    ms > 0 ? now + ms : 0,
    now,
    JSON.stringify(ids),
  )
}
