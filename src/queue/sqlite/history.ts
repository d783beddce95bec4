import type { What } from '../history.ts'
import type { StoreContext } from './rows.ts'

/** Appends to the history, in the transaction of what it tells of. */
export function addHistory(
  { db, clock, historyWrites }: StoreContext,
  run: string,
  what: What,
  subject: string,
  attempt = 0,
  detail = '',
): void {
  historyWrites.count += 1
  db.run(
    'insert into history (at, run, what, subject, attempt, detail) values (?, ?, ?, ?, ?, ?)',
    clock.now(),
    run,
    what,
    subject,
    attempt,
    detail,
  )
}

type Line = readonly [what: What, subject: string, detail: string]

/** Two that come one after the other, without an attempt, as the end of every task is told. */
export function addTwoToHistory(
  { db, clock, historyWrites }: StoreContext,
  run: string,
  first: Line,
  second: Line,
): void {
  historyWrites.count += 2
  db.run(
    `insert into history (at, run, what, subject, attempt, detail)
     values (?1, ?2, ?3, ?4, 0, ?5), (?1, ?2, ?6, ?7, 0, ?8)`,
    clock.now(),
    run,
    ...first,
    ...second,
  )
}

/** The attempt at its parent to which a task belongs; 0: to all of them. */
export function pushedBy({ db }: StoreContext, task: string): number {
  const row = db.get<{ attempt: number }>(
    `select attempt from history where subject = ? and what = 'pushed'
     and what in ('pushed', 'claimed', 'over', 'ended', 'sent', 'acked')`,
    task,
  )
  return row?.attempt ?? 0
}

/** That all queued tasks of an agent are started. */
export function addStartedToHistory(
  { db, clock, historyWrites }: StoreContext,
  run: string,
  parent: string,
): void {
  historyWrites.count += db.run(
    `insert into history (at, run, what, subject, attempt, detail)
     select ?3, run, 'started', id, 0, '' from task
     where run = ?1 and state = 'queued' and is_drained = 0 and parent = ?2 order by seq`,
    run,
    parent,
    clock.now(),
  )
}

/** Whether it happened once already. */
export function isInHistory({ db }: StoreContext, what: What, subject: string): boolean {
  return (
    db.get(
      `select 1 from history where subject = ? and what = ? and attempt = 0
       and what in ('pushed', 'claimed', 'over', 'ended', 'sent', 'acked')`,
      subject,
      what,
    ) !== undefined
  )
}
