import type { HistoryKind } from '../ledger.ts'
import type { StoreContext } from './rows.ts'

/** Appends to the history, in the transaction of the change that it records. */
export function addHistory(
  { db, clock }: StoreContext,
  run: string,
  what: HistoryKind,
  subject: string,
  attempt = 0,
  detail = '',
): void {
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

/** Makes SQLite use the index `history_once`. */
export const ONCE = `history.what in ('pushed', 'claimed', 'over', 'ended', 'sent', 'acked')`

/** The attempt of an entry; undefined if there is no such entry. */
export function findInHistory(
  { db }: StoreContext,
  what: 'pushed' | 'sent',
  subject: string,
): number | undefined {
  const sql = `select attempt from history where subject = ? and what = ? and ${ONCE}`
  return db.get<{ attempt: number }>(sql, subject, what)?.attempt
}
