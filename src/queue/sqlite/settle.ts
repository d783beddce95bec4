import { mayRetry, pauseAfter } from '../limits.ts'
import type { RetryDelay, Remains, FinishedAttempt, Settled } from '../store.ts'
import type { TaskClaim, TaskEnd, FollowUp } from '../task.ts'
import { heldBy } from './claim.ts'
import { cancelTree, endDrain, endTask, forward, isStray, unreadOf, type Unread } from './end.ts'
import { addHistory, ONCE } from './history.ts'
import { checkSize, taskById, type StoreContext, type TaskRow } from './rows.ts'
import { markDeadlocks } from './waiting.ts'

export function settle(
  context: StoreContext,
  claim: TaskClaim,
  end: TaskEnd,
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

/** Ends the running attempt of a task, and the task with it unless it is retried. */
export function settleAttempt(
  context: StoreContext,
  row: TaskRow,
  end: TaskEnd,
  { later, follow }: { readonly later?: RetryDelay | undefined } & Pick<Remains, 'follow'> = {},
): 'ended' | 'retrying' {
  const last = asCancelled(row, end)
  const isFree = later !== undefined && !last.success && last.class !== 'cancelled'
  const willRetry = isFree || (!last.success && mayRetry(last.class, row.attempt, row.retry))
  const how = last.success ? 'success' : last.class
  addHistory(context, row.run, 'over', row.id, row.attempt, willRetry ? `${AGAIN}${how}` : how)
  if (!willRetry) {
    endTask(context, row, last, follow)
    return 'ended'
  }
  // One more retry compensates for an attempt that does not count.
  const [inMs, retry] = isFree
    ? [later.inMs, row.retry + 1]
    : [pauseAfter(row.attempt, context.times), row.retry]
  retryTask(context, row, inMs, retry)
  return 'retrying'
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

/** A task that fails after it was cancelled counts as cancelled. */
function asCancelled(row: TaskRow, end: TaskEnd): TaskEnd {
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

/**
 * The next attempt starts fresh: tasks pushed by this one are cancelled, and its unread answers are forwarded
 * to an ancestor.
 */
function retryTask(context: StoreContext, { seq, id }: TaskRow, inMs: number, retry: number): void {
  const now = context.clock.now()
  context.db.run(
    `update task set state = 'ready', since = ?1, not_before = ?2, paused_at = ?1, retry = ?3,
     worker = null, lease_until = null where seq = ?4`,
    now,
    now + inMs,
    retry,
    seq,
  )
  context.db.run('delete from waiting where agent = ?', id)
  const row = taskById(context, id)!
  const strays = new Set(cancelStrays(context, row).map(({ name }) => name))
  if (row.drain_width !== null) endDrain(context, row.run, row.id)
  const unread = unreadOf(context, row)
  forward(
    context,
    row,
    unread.filter((message) => !isForAllAttempts(context, row, message, strays)),
  )
}

/** Cancels the tasks that the attempt of a claim has pushed. */
export function abandon(context: StoreContext, claim: TaskClaim): void {
  const row = heldBy(context, claim)
  if (row === undefined) return
  cancelStrays(context, row)
  markDeadlocks(context, row.run)
}

function cancelStrays(context: StoreContext, row: TaskRow): Stray[] {
  const strays = straysOf(context, row)
  const why = `attempt ${row.attempt} of ${row.name} is over`
  const isTop = (stray: Stray) => stray.state !== 'ended' && stray.is_below_living === 0
  for (const { id } of strays.filter(isTop)) cancelTree(context, taskById(context, id)!, why)
  return strays
}

/** True for results of tasks that its prompt pushed, and for messages from agents that it did not push. */
function isForAllAttempts(
  context: StoreContext,
  row: TaskRow,
  { sender, addressee, task }: Unread,
  strays: ReadonlySet<string>,
): boolean {
  if (task === null) return addressee === null && !strays.has(sender)
  return taskById(context, task)!.parent === row.id && !isStray(context, task, row)
}

type Stray = Pick<TaskRow, 'id' | 'name' | 'state'> & { readonly is_below_living: number }

/** The tasks that the last attempt has pushed, and their descendants. */
function straysOf({ db }: StoreContext, { id, attempt }: TaskRow): Stray[] {
  return db.all<Stray>(
    `with recursive stray (seq, id, name, state, is_below_living) as (
       select task.seq, task.id, name, state, 0 from task
         join history on history.subject = task.id and history.what = 'pushed' and ${ONCE}
         where task.parent = ?1 and history.attempt = ?2
       union all
       select task.seq, task.id, task.name, task.state,
         stray.is_below_living or stray.state <> 'ended'
         from stray join task on task.parent = stray.id
     ) select id, name, state, is_below_living from stray order by seq`,
    id,
    attempt,
  )
}

/** Forwards messages that a reader of a finished attempt has returned. */
export function forwardStrays(context: StoreContext, row: TaskRow): void {
  const isOfStray = ({ task }: Unread) =>
    task !== null && taskById(context, task)!.parent === row.id && isStray(context, task, row)
  forward(context, row, unreadOf(context, row).filter(isOfStray))
}
