import { resultId } from '../history.ts'
import type { Cancelled } from '../store.ts'
import type { End, EndBrief, FollowUp, NotQueued, TaskOptions, NewTask } from '../task.ts'
import { addHistory, addTwoToHistory, pushedBy } from './history.ts'
import {
  type StoreContext,
  type TaskRow,
  beginningOf,
  COLUMNS,
  parseColumn,
  taskById,
} from './rows.ts'
import { QueueError } from '../refusal.ts'
import { push } from './push.ts'

/** Ends a task with its result message, its queue and its inbox in the same transaction. */
export function endTask(
  context: StoreContext,
  row: TaskRow,
  end: End,
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
  if (hasAnythingLeft(context, row)) {
    context.db.run('delete from waiting where agent = ?', row.id)
    forwardUnread(context, row)
    cancelChildren(context, row)
  }
  // Before the drain of its parent may end: what follows is a part of it.
  const notQueued = pushFollowUps(context, row, follow)
  if (notQueued.length > 0) addNotQueued(context, row, { ...end, notQueued })
  if (row.is_drained === 1) endDrain(context, row.run, row.parent!)
}

/** They belong to the same attempt as the task did. Returns what is refused. */
function pushFollowUps(
  context: StoreContext,
  row: TaskRow,
  follow: readonly FollowUp[],
): NotQueued[] {
  if (follow.length === 0) return []
  const { id: task, name, attempt } = taskById(context, nearestReader(context, row))!
  const isForAllAttempts = attempt === 0 || pushedBy(context, row.id) === 0
  const parent = isForAllAttempts ? { name, task } : { name, task, attempt }
  return pushWhatFits(
    context,
    follow.map((each) => ({ ...each, run: row.run, parent, isForAllAttempts })),
  )
}

/** After the end, because only then its name is free for a follow-up task. */
function addNotQueued({ db }: StoreContext, { seq }: TaskRow, end: End): void {
  const outcome = { ...outcomeOf(end), notQueued: end.notQueued }
  const values = [JSON.stringify(outcome), JSON.stringify(end)] as const
  db.run('update task set outcome = ?, end = ? where seq = ?', ...values, seq)
}

function outcomeOf(end: End): EndBrief {
  return end.success
    ? { success: true }
    : { success: false, class: end.class, error: beginningOf(end.error) }
}

/** False for most tasks, which saves the queries that follow. */
function hasAnythingLeft({ db }: StoreContext, { id }: TaskRow): boolean {
  const left = db.get<{ isThere: number }>(
    `select exists (select 1 from waiting where agent = ?1)
     or exists (select 1 from message where recipient = ?1)
     or exists (select 1 from task where parent = ?1 and state <> 'ended') as isThere`,
    id,
  )
  return left?.isThere === 1
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
  addTwoToHistory(context, row.run, ['ended', row.id, how], ['sent', id, recipient])
}

/** The nearest ancestor that will read a task's messages; `main` never ends. */
function nearestReader(context: StoreContext, row: TaskRow): string {
  let below = row
  let agent = taskById(context, row.parent!)!
  while (agent.parent !== null && !isReading(context, agent, below)) {
    below = agent
    agent = taskById(context, agent.parent)!
  }
  return agent.id
}

function isReading(context: StoreContext, agent: TaskRow, below: TaskRow): boolean {
  return agent.state !== 'ended' && agent.cancelled === null && !isStray(context, below.id, agent)
}

/** Whether a task was pushed by a finished attempt at its parent, of which the next one knows nothing. */
export function isStray(context: StoreContext, task: string, parent: TaskRow): boolean {
  const over = countFinishedAttempts(parent)
  if (over === 0) return false
  const attempt = pushedBy(context, task)
  return attempt > 0 && attempt <= over
}

/** How many attempts at a task are over. */
export function countFinishedAttempts({ state, attempt }: TaskRow): number {
  return state === 'running' ? Math.max(0, attempt - 1) : attempt
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

/** Forwards the unread messages of an ended agent; leased ones stay with their reader. */
export function forwardUnread(context: StoreContext, ended: TaskRow): void {
  forward(context, ended, unreadOf(context, ended))
}

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
  const children = context.db.all<TaskRow>(
    `select ${COLUMNS} from task where parent = ? and state <> 'ended' order by seq`,
    parent.id,
  )
  const why = `its parent ${parent.name} ended`
  for (const child of children) {
    const { onParentEnd } = parseColumn<TaskOptions>(context, 'task.options', child.options)
    if (child.state === 'queued' || onParentEnd === 'cancel') cancelTree(context, child, why)
  }
}

/** From the top down, so that each result goes to someone who is not about to end as well. */
export function cancelTree(context: StoreContext, root: TaskRow, why: string): Cancelled {
  const row = taskById(context, root.id)!
  if (row.state === 'ended') return { ended: [], told: [] }
  const isAtWork = row.state === 'running'
  if (isAtWork) requestCancel(context, row, why)
  // Before the task itself, whose end would give them another reason.
  else context.db.run('update task set cancelled = ? where seq = ?', why, row.seq)
  const below = context.db
    .all<TaskRow>(
      `select ${COLUMNS} from task where parent = ? and state <> 'ended' order by seq`,
      row.id,
    )
    .map((child) => cancelTree(context, child, why))
  if (!isAtWork) endTask(context, row, { success: false, class: 'cancelled', error: why })
  return {
    ended: [...(isAtWork ? [] : [row.name]), ...below.flatMap(({ ended }) => ended)],
    told: [...(isAtWork ? [row.name] : []), ...below.flatMap(({ told }) => told)],
  }
}

function requestCancel(context: StoreContext, row: TaskRow, why: string): void {
  if (row.cancelled !== null) return
  context.db.run('update task set cancelled = ? where seq = ?', why, row.seq)
  addHistory(context, row.run, 'told', row.id, row.attempt, why)
}

/** Once a drained queue is empty, later pushes wait to be started again. */
export function endDrain(context: StoreContext, run: string, parent: string): void {
  context.db.run(
    `update task set drain_width = null where id = ?2 and drain_width is not null and not exists
     (select 1 from task where run = ?1 and state in ('ready', 'running') and is_drained = 1
       and parent = ?2)`,
    run,
    parent,
  )
}

/** Pushes what is not refused, within a transaction; returns the rest. */
function pushWhatFits(context: StoreContext, tasks: readonly NewTask[]): NotQueued[] {
  const error = refusalOf(context, tasks)
  if (error === undefined) return []
  const [first, ...others] = tasks
  if (others.length > 0) return tasks.flatMap((task) => pushWhatFits(context, [task]))
  const { message, hint } = error
  return [{ name: first!.name, error: message, ...(hint === undefined ? {} : { hint }) }]
}

function refusalOf(context: StoreContext, tasks: readonly NewTask[]): QueueError | undefined {
  try {
    context.db.nested(() => push(context, tasks))
    return undefined
  } catch (error) {
    if (error instanceof QueueError) return error
    throw error
  }
}
