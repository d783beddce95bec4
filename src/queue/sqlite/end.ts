import { resultId } from '../history.ts'
import type { Cancelled } from '../store.ts'
import type { End, EndBrief, FollowUp, NotQueued, TaskOptions } from '../task.ts'
import { pushWhatFits } from './follow.ts'
import { note, noteBoth, pushedBy } from './note.ts'
import type { Books, TaskRow } from './rows.ts'
import { beginningOf, COLUMNS, taskById } from './rows.ts'

/** Ends a task for good: its message, its queue and its inbox go with it, in the same transaction. */
export function endTask(
  books: Books,
  row: TaskRow,
  end: End,
  follow: readonly FollowUp[] = [],
): void {
  books.db.run(
    `update task set state = 'ended', since = ?, outcome = ?, end = ?, worker = null,
     lease_until = null where seq = ?`,
    books.clock.now(),
    JSON.stringify(outcomeOf(end)),
    JSON.stringify(end),
    row.seq,
  )
  tellParent(books, row, end.success ? 'success' : end.class)
  if (leavesAnything(books, row)) {
    books.db.run('delete from waiting where agent = ?', row.id)
    forwardUnread(books, row)
    endQueue(books, row)
  }
  // Before the drain of its parent may end: what follows is a part of it.
  const notQueued = pushFollowUps(books, row, follow)
  if (notQueued.length > 0) addNotQueued(books, row, { ...end, notQueued })
  if (row.is_drained === 1) endDrain(books, row.run, row.parent!)
}

/** They belong to the attempt to which the task has belonged. What is refused is returned. */
function pushFollowUps(books: Books, row: TaskRow, follow: readonly FollowUp[]): NotQueued[] {
  if (follow.length === 0) return []
  const { id: task, name, attempt } = taskById(books, heirOf(books, row))!
  const isOfAll = attempt === 0 || pushedBy(books, row.id) === 0
  const parent = isOfAll ? { name, task } : { name, task, attempt }
  return pushWhatFits(
    books,
    follow.map((each) => ({ ...each, run: row.run, parent, isOfAll })),
  )
}

/** Only behind its end its name is free for what follows. */
function addNotQueued({ db }: Books, { seq }: TaskRow, end: End): void {
  const outcome = { ...outcomeOf(end), notQueued: end.notQueued }
  const values = [JSON.stringify(outcome), JSON.stringify(end)] as const
  db.run('update task set outcome = ?, end = ? where seq = ?', ...values, seq)
}

function outcomeOf(end: End): EndBrief {
  return end.success
    ? { success: true }
    : { success: false, class: end.class, error: beginningOf(end.error) }
}

/** Most tasks wait for nobody, have no inbox and have queued nothing. */
function leavesAnything({ db }: Books, { id }: TaskRow): boolean {
  const left = db.get<{ isThere: number }>(
    `select exists (select 1 from waiting where agent = ?1)
     or exists (select 1 from message where recipient = ?1)
     or exists (select 1 from task where parent = ?1 and state <> 'ended') as isThere`,
    id,
  )
  return left?.isThere === 1
}

function tellParent(books: Books, row: TaskRow, how: string): void {
  const recipient = heirOf(books, row)
  const id = resultId(row.id)
  books.db.run(
    `insert into message (id, run, recipient, sender, task, body, at) values (?, ?, ?, ?, ?, '', ?)`,
    id,
    row.run,
    recipient,
    row.name,
    row.id,
    books.clock.now(),
  )
  noteBoth(books, row.run, ['ended', row.id, how], ['sent', id, recipient])
}

/** Whoever is nearest above and will read what a task leaves; `main` never ends. */
function heirOf(books: Books, row: TaskRow): string {
  let below = row
  let agent = taskById(books, row.parent!)!
  while (agent.parent !== null && !isReading(books, agent, below)) {
    below = agent
    agent = taskById(books, agent.parent)!
  }
  return agent.id
}

function isReading(books: Books, agent: TaskRow, below: TaskRow): boolean {
  return agent.state !== 'ended' && agent.cancelled === null && !isStray(books, below.id, agent)
}

/** Whether a task was pushed by an attempt at its parent that is over: the next one knows nothing of it. */
export function isStray(books: Books, task: string, parent: TaskRow): boolean {
  const over = attemptsOver(parent)
  if (over === 0) return false
  const attempt = pushedBy(books, task)
  return attempt > 0 && attempt <= over
}

/** How many attempts at a task are over. */
export function attemptsOver({ state, attempt }: TaskRow): number {
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

/** What an agent could read now; what a reader has in hand is not among it. */
export function unreadOf(books: Books, agent: TaskRow): Unread[] {
  return books.db.all<Unread>(
    `select seq, id, sender, addressee, task, delivery, reader from message where recipient = ?
     and (reader is null or lease_until <= ?) order by seq`,
    agent.id,
    books.clock.now(),
  )
}

/** What an agent has not read when it ends goes up; what a reader has in hand stays there. */
export function forwardUnread(books: Books, ended: TaskRow): void {
  forward(books, ended, unreadOf(books, ended))
}

export function forward(books: Books, from: TaskRow, messages: readonly Unread[]): void {
  if (messages.length === 0) return
  const recipient = heirOf(books, from)
  for (const { seq, id, delivery, reader } of messages) {
    if (reader !== null) note(books, from.run, 'returned', id, delivery, reader)
    books.db.run(
      `update message set recipient = ?, reader = null, lease_until = null,
       addressee = iif(task is null, coalesce(addressee, ?), null) where seq = ?`,
      recipient,
      from.name,
      seq,
    )
    note(books, from.run, 'forwarded', id, 0, recipient)
  }
}

/** What was not started dies with its queue, and says so; what was started is waited for. */
function endQueue(books: Books, parent: TaskRow): void {
  const children = books.db.all<TaskRow>(
    `select ${COLUMNS} from task where parent = ? and state <> 'ended' order by seq`,
    parent.id,
  )
  const why = `its parent ${parent.name} ended`
  for (const child of children) {
    const { onParentEnd } = JSON.parse(child.options) as TaskOptions
    if (child.state === 'queued' || onParentEnd === 'cancel') cancelTree(books, child, why)
  }
}

/** From the top down, so that each result goes to someone who is not about to end as well. */
export function cancelTree(books: Books, root: TaskRow, why: string): Cancelled {
  const row = taskById(books, root.id)!
  if (row.state === 'ended') return { ended: [], told: [] }
  const isAtWork = row.state === 'running'
  if (isAtWork) tell(books, row, why)
  // Before the task itself, whose end would give them another reason.
  else books.db.run('update task set cancelled = ? where seq = ?', why, row.seq)
  const below = books.db
    .all<TaskRow>(
      `select ${COLUMNS} from task where parent = ? and state <> 'ended' order by seq`,
      row.id,
    )
    .map((child) => cancelTree(books, child, why))
  if (!isAtWork) endTask(books, row, { success: false, class: 'cancelled', error: why })
  return {
    ended: [...(isAtWork ? [] : [row.name]), ...below.flatMap(({ ended }) => ended)],
    told: [...(isAtWork ? [row.name] : []), ...below.flatMap(({ told }) => told)],
  }
}

function tell(books: Books, row: TaskRow, why: string): void {
  if (row.cancelled !== null) return
  books.db.run('update task set cancelled = ? where seq = ?', why, row.seq)
  note(books, row.run, 'told', row.id, row.attempt, why)
}

/** A queue that ran empty is an ordinary one again: what is pushed later waits to be started. */
export function endDrain(books: Books, run: string, parent: string): void {
  books.db.run(
    `update task set drain_width = null where id = ?2 and drain_width is not null and not exists
     (select 1 from task where run = ?1 and state in ('ready', 'running') and is_drained = 1
       and parent = ?2)`,
    run,
    parent,
  )
}
