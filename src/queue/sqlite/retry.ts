import type { Claim } from '../task.ts'
import { heldBy } from './claim.ts'
import {
  countFinishedAttempts,
  cancelTree,
  endDrain,
  forward,
  isStray,
  unreadOf,
  type Unread,
} from './end.ts'
import type { StoreContext, TaskRow } from './rows.ts'
import { taskById } from './rows.ts'
import { markDeadlocks } from './waiting.ts'

/**
 * Prepares a retry. The next attempt starts blank: tasks that this one has pushed are cancelled, and its
 * unread answers are forwarded to an ancestor.
 */
export function retryTask(
  context: StoreContext,
  { seq, id, retry }: TaskRow,
  inMs: number,
): 'retrying' {
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
  endAttemptTasks(context, taskById(context, id)!)
  return 'retrying'
}

/** Cancels the tasks that the attempt of a claim has pushed. */
export function abandon(context: StoreContext, claim: Claim): void {
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

function endAttemptTasks(context: StoreContext, row: TaskRow): void {
  const strays = cancelStrays(context, row)
  if (row.drain_width !== null) endDrain(context, row.run, row.id)
  const names = new Set(strays.map(({ name }) => name))
  const isForIt = (message: Unread) => isForAll(context, row, message, names)
  forward(
    context,
    row,
    unreadOf(context, row).filter((message) => !isForIt(message)),
  )
}

/** Answers to pushes of its prompt, and messages from others, are for every attempt. */
function isForAll(
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
         join history on history.subject = task.id and history.what = 'pushed'
         and history.what in ('pushed', 'claimed', 'over', 'ended', 'sent', 'acked')
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

/** Messages that a reader of a finished attempt returns are not for the next attempt. */
export function forwardStrays(context: StoreContext, row: TaskRow): void {
  if (countFinishedAttempts(row) === 0) return
  const isOfStray = ({ task }: Unread) =>
    task !== null && taskById(context, task)!.parent === row.id && isStray(context, task, row)
  forward(context, row, unreadOf(context, row).filter(isOfStray))
}
