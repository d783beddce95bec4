import type { HeartbeatAnswer } from '../store.ts'
import type { TaskClaim } from '../task.ts'
import { addHistory } from './history.ts'
import { COLUMNS, countOf, taskById, taskOf, type StoreContext, type TaskRow } from './rows.ts'

const STARTED = `select min(seq) as seq from task where run = ?1 and state = 'ready'
  and is_drained = 0 and not_before <= ?2`

/** One task per queue that is drained and not at its full width; a queue may have thousands. */
const DRAINED = `select (select seq from task where run = ?1 and state = 'ready' and is_drained = 1
    and parent = agent.id and not_before <= ?2 order by seq limit 1)
  from task as agent where run = ?1 and drain_width is not null
  and drain_width > (select count(*) from task
    where run = ?1 and state = 'running' and is_drained = 1 and parent = agent.id)`

const FIND = `select ${COLUMNS} from task
  where seq = (select min(seq) from (${STARTED} union all ${DRAINED}))`

const TAKE = `update task set state = 'running', since = ?, attempt = attempt + 1, worker = ?,
  lease_until = ? where seq = ?`

export function claim(context: StoreContext, run: string, worker: string): TaskClaim | null {
  if (countOf(context, run, 'running') >= context.limits.running) return null
  const now = context.clock.now()
  const found = context.db.get<TaskRow>(FIND, run, now)
  if (found === undefined) {
    restartPauses(context, run, now)
    return null
  }
  const lease_until = now + context.times.taskLeaseMs
  context.db.run(TAKE, now, worker, lease_until, found.seq)
  const attempt = found.attempt + 1
  const row: TaskRow = { ...found, state: 'running', since: now, attempt, worker, lease_until }
  addHistory(context, run, 'claimed', row.id, attempt, worker)
  return { task: taskOf(context, row, now), attempt, worker }
}

/** If the clock was set back, a pause that began in the future begins now. */
function restartPauses({ db }: StoreContext, run: string, now: number): void {
  db.run(
    `update task set not_before = ?2 + not_before - paused_at, paused_at = ?2
     where run = ?1 and state = 'ready' and not_before > 0 and paused_at > ?2`,
    run,
    now,
  )
}

/** The task, if this claim is still valid. */
export function heldBy(
  context: StoreContext,
  { task, attempt, worker }: TaskClaim,
): TaskRow | undefined {
  const row = taskById(context, task.id)
  const isHeld = row?.state === 'running' && row.attempt === attempt && row.worker === worker
  return isHeld ? row : undefined
}

export function heartbeat(context: StoreContext, held: TaskClaim): HeartbeatAnswer {
  const row = heldBy(context, held)
  if (row === undefined) return { isOurs: false, reason: 'lost' }
  // Also renews the claim on a cancelled task, because its worker needs time to stop the agent.
  const until = context.clock.now() + context.times.taskLeaseMs
  context.db.run('update task set lease_until = ? where seq = ?', until, row.seq)
  if (row.cancelled === null) return { isOurs: true }
  return { isOurs: false, reason: 'cancelled', why: row.cancelled }
}
