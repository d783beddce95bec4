import type { Beat } from '../store.ts'
import type { Claim } from '../task.ts'
import { note } from './note.ts'
import type { Books, TaskRow } from './rows.ts'
import { COLUMNS, countOf, taskById, taskOf } from './rows.ts'

const STARTED = `select seq from task where run = ?1 and state = 'ready' and is_drained = 0
  and not_before <= ?2 order by seq limit 1`

/** Of each queue whose width is not used up: those of a full one may be thousands. */
const DRAINED = `select (select seq from task where parent = agent.id and state = 'ready'
    and is_drained = 1 and not_before <= ?2 order by seq limit 1)
  from task as agent where run = ?1 and drain_width is not null
  and drain_width > (select count(*) from task
    where parent = agent.id and state = 'running' and is_drained = 1)`

const OLDEST = `select seq from task where seq in (select * from (${STARTED}) union all ${DRAINED})
  order by seq limit 1`

const TAKE = `update task set state = 'running', since = ?2, attempt = attempt + 1,
  worker = ?3, lease_until = ?4 where seq = (${OLDEST}) returning ${COLUMNS}`

export function claim(books: Books, run: string, worker: string): Claim | null {
  if (countOf(books, run, 'running') >= books.limits.running) return null
  const now = books.clock.now()
  const row = books.db.get<TaskRow>(TAKE, run, now, worker, now + books.times.taskLeaseMs)
  if (row === undefined) {
    mendPauses(books, run, now)
    return null
  }
  note(books, run, 'claimed', row.id, row.attempt, worker)
  return { task: taskOf(books, row, now), attempt: row.attempt, worker }
}

/** A clock that went back would make pauses longer: those that began after now begin now. */
function mendPauses({ db }: Books, run: string, now: number): void {
  db.run(
    `update task set not_before = ?2 + not_before - paused_at, paused_at = ?2
     where run = ?1 and state = 'ready' and not_before > 0 and paused_at > ?2`,
    run,
    now,
  )
}

/** The task, if this claim on it still holds. */
export function heldBy(books: Books, { task, attempt, worker }: Claim): TaskRow | undefined {
  const row = taskById(books, task.id)
  const isHeld = row?.state === 'running' && row.attempt === attempt && row.worker === worker
  return isHeld ? row : undefined
}

export function beat(books: Books, held: Claim): Beat {
  const row = heldBy(books, held)
  if (row === undefined) return { isOurs: false, reason: 'lost' }
  // Also for one that was told to stop: its worker needs time to end the agent.
  const until = books.clock.now() + books.times.taskLeaseMs
  books.db.run('update task set lease_until = ? where seq = ?', until, row.seq)
  if (row.cancelled === null) return { isOurs: true }
  return { isOurs: false, reason: 'cancelled', why: row.cancelled }
}
