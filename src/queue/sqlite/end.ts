import { resultId } from '../ledger.ts'
import { QueueError } from '../refusal.ts'
import type { Cancelled } from '../store.ts'
import type {
  TaskEnd,
  TaskEndBrief,
  FollowUp,
  NotQueued,
  QueuedTaskOptions,
  NewQueuedTask,
} from '../task.ts'
import { addHistory, findInHistory } from './history.ts'
import { push } from './push.ts'
import {
  firstCharacters,
  COLUMNS,
  parseColumn,
  taskById,
  type StoreContext,
  type TaskRow,
} from './rows.ts'

/** Ends a task: sends its result, forwards its inbox, cancels its queue and pushes its follow-up tasks. */
export function endTask(
  context: StoreContext,
  row: TaskRow,
  end: TaskEnd,
  follow: readonly FollowUp[] = [],
): void {
  context.db.run(
    `update task set state = 'ended', since = ?, outcome = ?, end = ?, worker = null,
     lease_until = null where seq = ?`,
    context.clock.now(),
    JSON.stringify(outcomeOf(end)),
    JSON.stringify(end),
    row.seq,
  )
  sendResult(context, row, end.success ? 'success' : end.class)
  context.db.run('delete from waiting where agent = ?', row.id)
  forward(context, row, unreadOf(context, row))
  cancelChildren(context, row)
  // Before the parent's drain may end, because follow-up tasks belong to it.
  const notQueued = pushFollowUps(context, row, follow)
  if (notQueued.length > 0) addNotQueued(context, row, { ...end, notQueued })
  if (row.is_drained === 1) endDrain(context, row.run, row.parent!)
}

/** They belong to the same attempt as the task. Returns those that were refused. */
function pushFollowUps(
  context: StoreContext,
  row: TaskRow,
  follow: readonly FollowUp[],
): NotQueued[] {
  if (follow.length === 0) return []
  const { id: task, name, attempt } = taskById(context, nearestReader(context, row))!
  const isForAllAttempts = attempt === 0 || pusherAttempt(context, row.id) === 0
  const parent = isForAllAttempts ? { name, task } : { name, task, attempt }
  const tasks = follow.map((each) => ({ ...each, run: row.run, parent, isForAllAttempts }))
  return tasks.flatMap((each) => pushIfAccepted(context, each))
}

function pushIfAccepted(context: StoreContext, task: NewQueuedTask): NotQueued[] {
  try {
    context.db.nested(() => push(context, [task]))
    return []
  } catch (error) {
    if (!(error instanceof QueueError)) throw error
    const { message, hint } = error
    return [{ name: task.name, error: message, ...(hint === undefined ? {} : { hint }) }]
  }
}

/** The attempt of the parent that pushed a task; 0 if it belongs to all attempts. */
function pusherAttempt(context: StoreContext, task: string): number {
  return findInHistory(context, 'pushed', task) ?? 0
}

/** After the end, because a follow-up task may reuse the name. */
function addNotQueued({ db }: StoreContext, { seq }: TaskRow, end: TaskEnd): void {
  const outcome = { ...outcomeOf(end), notQueued: end.notQueued }
  const values = [JSON.stringify(outcome), JSON.stringify(end)] as const
  db.run('update task set outcome = ?, end = ? where seq = ?', ...values, seq)
}

function outcomeOf(end: TaskEnd): TaskEndBrief {
  return end.success
    ? { success: true }
    : { success: false, class: end.class, error: firstCharacters(end.error) }
}

function sendResult(context: StoreContext, row: TaskRow, how: string): void {
  const recipient = nearestReader(context, row)
  const id = resultId(row.id)
  context.db.run(
    `insert into message (id, run, recipient, sender, task, body, at) values (?, ?, ?, ?, ?, '', ?)`,
    id,
    row.run,
    recipient,
    row.name,
    row.id,
    context.clock.now(),
  )
  addHistory(context, row.run, 'ended', row.id, 0, how)
  addHistory(context, row.run, 'sent', id, 0, recipient)
}

/** The nearest ancestor that can still read a task's messages; the agent of a step never ends. */
function nearestReader(context: StoreContext, row: TaskRow): string {
  const agent = taskById(context, row.parent!)!
  const isReading =
    agent.state !== 'ended' && agent.cancelled === null && !isStray(context, row.id, agent)
  return isReading || agent.parent === null ? agent.id : nearestReader(context, agent)
}

/** Whether a task was pushed by a finished attempt of its parent, so that the next attempt does not know it. */
export function isStray(context: StoreContext, task: string, parent: TaskRow): boolean {
  const finished = parent.state === 'running' ? parent.attempt - 1 : parent.attempt
  const attempt = finished > 0 ? pusherAttempt(context, task) : 0
  return attempt > 0 && attempt <= finished
}

export interface Unread {
  readonly seq: number
  readonly id: string
  readonly sender: string
  readonly addressee: string | null
  readonly task: string | null
  readonly delivery: number
  readonly reader: string | null
}

/** Messages that are not leased to a reader. */
export function unreadOf(context: StoreContext, agent: TaskRow): Unread[] {
  return context.db.all<Unread>(
    `select seq, id, sender, addressee, task, delivery, reader from message where recipient = ?
     and (reader is null or lease_until <= ?) order by seq`,
    agent.id,
    context.clock.now(),
  )
}

/** Forwards messages to the nearest ancestor that can still read them. */
export function forward(context: StoreContext, from: TaskRow, messages: readonly Unread[]): void {
  if (messages.length === 0) return
  const recipient = nearestReader(context, from)
  for (const { seq, id, delivery, reader } of messages) {
    if (reader !== null) addHistory(context, from.run, 'returned', id, delivery, reader)
    context.db.run(
      `update message set recipient = ?, reader = null, lease_until = null,
       addressee = iif(task is null, coalesce(addressee, ?), null) where seq = ?`,
      recipient,
      from.name,
      seq,
    )
    addHistory(context, from.run, 'forwarded', id, 0, recipient)
  }
}

/** Cancels queued children and those with `on_parent_end=cancel`. */
function cancelChildren(context: StoreContext, parent: TaskRow): void {
  const why = `its parent ${parent.name} ended`
  for (const child of openChildrenOf(context, parent)) {
    const { onParentEnd } = parseColumn<QueuedTaskOptions>(context, 'task.options', child.options)
    if (child.state === 'queued' || onParentEnd === 'cancel') cancelTree(context, child, why)
  }
}

function openChildrenOf({ db }: StoreContext, { id }: TaskRow): TaskRow[] {
  const sql = `select ${COLUMNS} from task where parent = ? and state <> 'ended' order by seq`
  return db.all<TaskRow>(sql, id)
}

/** From the top down, so that no result goes to a task that is also being cancelled. */
export function cancelTree(context: StoreContext, root: TaskRow, why: string): Cancelled {
  const row = taskById(context, root.id)!
  if (row.state === 'ended') return { ended: [], told: [] }
  const isRunning = row.state === 'running'
  if (row.cancelled === null) {
    context.db.run('update task set cancelled = ? where seq = ?', why, row.seq)
    if (isRunning) addHistory(context, row.run, 'told', row.id, row.attempt, why)
  }
  // Before the task ends, which would cancel them for another reason.
  const below = openChildrenOf(context, row).map((child) => cancelTree(context, child, why))
  if (!isRunning) endTask(context, row, { success: false, class: 'cancelled', error: why })
  return {
    ended: [...(isRunning ? [] : [row.name]), ...below.flatMap(({ ended }) => ended)],
    told: [...(isRunning ? [row.name] : []), ...below.flatMap(({ told }) => told)],
  }
}

/** Once a drained queue is empty, later pushes have to be started again. */
export function endDrain(context: StoreContext, run: string, parent: string): void {
  context.db.run(
    `update task set drain_width = null where id = ?2 and drain_width is not null and not exists
     (select 1 from task where run = ?1 and state in ('ready', 'running') and is_drained = 1
       and parent = ?2)`,
    run,
    parent,
  )
}
