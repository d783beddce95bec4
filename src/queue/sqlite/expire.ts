import { QueueError } from '../refusal.ts'
import type { Cancelled, Expired, Left } from '../store.ts'
import { MAIN, type Agent } from '../task.ts'
import { cancelTree } from './end.ts'
import { dropWaits, releaseStale } from './messages.ts'
import { note } from './note.ts'
import type { Books, TaskRow } from './rows.ts'
import { agentNamed, briefOf, COLUMNS, livingAgent, taskById } from './rows.ts'
import { settleAttempt } from './settle.ts'
import { markDeadlocks } from './waiting.ts'

export function expire(
  books: Books,
  run: string,
  dead: readonly string[],
  left: ReadonlyMap<string, Left>,
): Expired[] {
  const gone = new Set(dead)
  const now = books.clock.now()
  const lost = books.db
    .all<TaskRow>(
      `select ${COLUMNS} from task where run = ? and state = 'running' and depth > 0 order by seq`,
      run,
    )
    .filter((row) => row.lease_until! <= now || gone.has(row.worker!))
  dropWaits(books, run, dead)
  // First: what comes back goes the way of all that is unread.
  releaseStale(books, run, dead)
  const expired = lost.map(({ id }) => lose(books, id, left.get(id)))
  markDeadlocks(books, run)
  return expired
}

function lose(books: Books, id: string, { output, follow = [] }: Left = {}): Expired {
  // Anew: an end before this one in the list may have told it to stop.
  const row = taskById(books, id)!
  const partialOutput = output || undefined
  const end = { success: false, class: 'lost', error: 'its worker is gone', partialOutput } as const
  const settled = settleAttempt(books, row, end, { follow })
  return { task: briefOf(taskById(books, id)!, books.clock.now()), settled }
}

/** Whoever has something of a run in hand, or waits in it. */
export function hands({ db }: Books, run: string): string[] {
  return db
    .all<{ hand: string }>(
      `select worker as hand from task where run = ?1 and state = 'running' and worker is not null
       union select reader from message where reader is not null and run = ?1
       union select reader from waiting where run = ?1`,
      run,
    )
    .map(({ hand }) => hand)
}

export function cancel(
  books: Books,
  run: string,
  name: string,
  why: string,
  by?: Agent,
): Cancelled {
  if (by !== undefined) livingAgent(books, run, by)
  if (name === MAIN) throw new QueueError({ kind: 'main_stays' })
  const cancelled = cancelTree(books, livingAgent(books, run, name), why)
  markDeadlocks(books, run)
  return cancelled
}

export function setMain(books: Books, run: string, state: 'running' | 'idle'): void {
  const main = agentNamed(books, run, MAIN)
  if (main.state === state) return
  books.db.run(
    'update task set state = ?, since = ? where seq = ?',
    state,
    books.clock.now(),
    main.seq,
  )
  note(books, run, 'main', main.id, 0, state)
  markDeadlocks(books, run)
}
