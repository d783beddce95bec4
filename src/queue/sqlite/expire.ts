import { QueueError } from '../refusal.ts'
import type { Cancelled, Expired, Remains, StepAgent } from '../store.ts'
import type { Agent } from '../task.ts'
import { cancelTree } from './end.ts'
import { addHistory } from './history.ts'
import { releaseStale } from './messages.ts'
import {
  agentNamed,
  briefOf,
  COLUMNS,
  livingAgent,
  taskById,
  type StoreContext,
  type TaskRow,
} from './rows.ts'
import { settleAttempt } from './settle.ts'
import { markDeadlocks } from './waiting.ts'

export function expire(
  context: StoreContext,
  run: string,
  dead: readonly string[] = [],
  left: ReadonlyMap<string, Remains> = new Map(),
): Expired[] {
  const gone = new Set(dead)
  const now = context.clock.now()
  const lost = context.db
    .all<TaskRow>(
      `select ${COLUMNS} from task where run = ? and state = 'running' and depth > 0 order by seq`,
      run,
    )
    .filter((row) => row.lease_until! <= now || gone.has(row.worker!))
  // First, so that returned messages are forwarded like other unread ones.
  releaseStale(context, run, dead)
  const expired = lost.map(({ id }) => lose(context, id, left.get(id)))
  markDeadlocks(context, run)
  return expired
}

function lose(context: StoreContext, id: string, { output, follow = [] }: Remains = {}): Expired {
  // Read again, because the end of another task may have cancelled it.
  const row = taskById(context, id)!
  const partialOutput = output || undefined
  const end = { success: false, class: 'lost', error: 'its worker is gone', partialOutput } as const
  const settled = settleAttempt(context, row, end, { follow })
  return { task: briefOf(context, taskById(context, id)!, context.clock.now()), settled }
}

export function holders({ db }: StoreContext, run: string): string[] {
  return db
    .all<{ holder: string }>(
      `select worker as holder from task where run = ?1 and state = 'running' and worker is not null
       union select reader from message where reader is not null and run = ?1
       union select reader from waiting where run = ?1`,
      run,
    )
    .map(({ holder }) => holder)
}

export function cancel(
  context: StoreContext,
  run: string,
  name: string,
  why = 'cancelled',
  by?: Agent,
): Cancelled {
  if (by !== undefined) livingAgent(context, run, by)
  const row = livingAgent(context, run, name)
  if (row.depth === 0) throw new QueueError({ kind: 'not_a_task', name })
  const cancelled = cancelTree(context, row, why)
  markDeadlocks(context, run)
  return cancelled
}

export function setStepAgent(
  context: StoreContext,
  run: string,
  name: string,
  state: StepAgent['state'],
): void {
  const agent = agentNamed(context, run, name)
  if (agent.depth > 0) throw new QueueError({ kind: 'unknown_agent', name })
  if (agent.state === state) return
  context.db.run(
    'update task set state = ?, since = ? where seq = ?',
    state,
    context.clock.now(),
    agent.seq,
  )
  addHistory(context, run, 'main', agent.id, 0, state)
  markDeadlocks(context, run)
}
