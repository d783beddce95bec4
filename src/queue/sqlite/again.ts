import type { Claim } from '../task.ts'
import { heldBy } from './claim.ts'
import {
  attemptsOver,
  cancelTree,
  endDrain,
  forward,
  isStray,
  unreadOf,
  type Unread,
} from './end.ts'
import type { Books, TaskRow } from './rows.ts'
import { taskById } from './rows.ts'
import { markDeadlocks } from './waiting.ts'

/**
 * Lets a task be tried again. The next attempt starts blank: what this one has pushed ends, and says
 * so above, where the answers go that it has not read.
 */
export function tryAgain(books: Books, { seq, id, retry }: TaskRow, inMs: number): 'retrying' {
  const now = books.clock.now()
  books.db.run(
    `update task set state = 'ready', since = ?1, not_before = ?2, paused_at = ?1, retry = ?3,
     worker = null, lease_until = null where seq = ?4`,
    now,
    now + inMs,
    retry,
    seq,
  )
  books.db.run('delete from waiting where agent = ?', id)
  letGoOf(books, taskById(books, id)!)
  return 'retrying'
}

/** What the attempt of a claim has pushed is told to end. */
export function abandon(books: Books, claim: Claim): void {
  const row = heldBy(books, claim)
  if (row === undefined) return
  cancelStrays(books, row)
  markDeadlocks(books, row.run)
}

function cancelStrays(books: Books, row: TaskRow): Stray[] {
  const strays = straysOf(books, row)
  const why = `attempt ${row.attempt} of ${row.name} is over`
  const isTop = (stray: Stray) => stray.state !== 'ended' && stray.is_below_living === 0
  for (const { id } of strays.filter(isTop)) cancelTree(books, taskById(books, id)!, why)
  return strays
}

function letGoOf(books: Books, row: TaskRow): void {
  const strays = cancelStrays(books, row)
  if (row.drain_width !== null) endDrain(books, row.run, row.id)
  const names = new Set(strays.map(({ name }) => name))
  const isForIt = (message: Unread) => isForAll(books, row, message, names)
  forward(
    books,
    row,
    unreadOf(books, row).filter((message) => !isForIt(message)),
  )
}

/** Answers to what its prompt has pushed, and what others have sent to it, are for every attempt. */
function isForAll(
  books: Books,
  row: TaskRow,
  { sender, addressee, task }: Unread,
  strays: ReadonlySet<string>,
): boolean {
  if (task === null) return addressee === null && !strays.has(sender)
  return taskById(books, task)!.parent === row.id && !isStray(books, task, row)
}

type Stray = Pick<TaskRow, 'id' | 'name' | 'state'> & { readonly is_below_living: number }

/** What the attempt that is just over has pushed, and all below it. */
function straysOf({ db }: Books, { id, attempt }: TaskRow): Stray[] {
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

/** What came back from a reader of an attempt that is over is not for the next one, either. */
export function forwardStrays(books: Books, row: TaskRow): void {
  if (attemptsOver(row) === 0) return
  const isOfStray = ({ task }: Unread) =>
    task !== null && taskById(books, task)!.parent === row.id && isStray(books, task, row)
  forward(books, row, unreadOf(books, row).filter(isOfStray))
}
