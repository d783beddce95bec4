import type { Beat } from '../store.ts'
import type { Claim } from '../task.ts'
import { note } from './note.ts'
import type { Books, TaskRow } from './rows.ts'
import { COLUMNS, countOf, taskById, taskOf } from './rows.ts'

/** There are never more of them than slots. */
const STARTED = `select min(seq) as seq from task where run = ?1 and state = 'ready'
  and is_drained = 0 and not_before <= ?2`

/** Of each queue whose width is not used up: those of a full one may be thousands. */
const DRAINED = `select (select seq from task where run = ?1 and state = 'ready' and is_drained = 1
    and parent = agent.id and not_before <= ?2 order by seq limit 1)
  from task as agent where run = ?1 and drain_width is not null
  and drain_width > (select count(*) from task
    where run = ?1 and state = 'running' and is_drained = 1 and parent = agent.id)`

const OLDEST = `select min(seq) from (${STARTED} union all ${DRAINED})`

const FIND = `select ${COLUMNS} from task where seq = (${OLDEST})`

// Without `returning`: SQLite would keep its answer in a table of its own meanwhile.
const TAKE = `update task set state = 'running', since = ?, attempt = attempt + 1, worker = ?,
  lease_until = ? where seq = ?`

export function claim(books: Books, run: string, worker: string): Claim | null {
  if (countOf(books, run, 'running') >= books.limits.running) return null
  const now = books.clock.now()
  const found = books.db.get<TaskRow>(FIND, run, now)
  if (found === undefined) {
    mendPauses(books, run, now)
    return null
  }
  const lease_until = now + books.times.taskLeaseMs
  books.db.run(TAKE, now, worker, lease_until, found.seq)
  const attempt = found.attempt + 1
  const row: TaskRow = { ...found, state: 'running', since: now, attempt, worker, lease_until }
  note(books, run, 'claimed', row.id, attempt, worker)
  return { task: taskOf(books, row, now), attempt, worker }
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
