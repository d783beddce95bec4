import {
  haveAllAnswered,
  type InboxLine,
  type Lease,
  type LeaseQuery,
  type InboxMessage,
  type NewMessage,
  type TakeQuery,
  type Taken,
} from '../message.ts'
import { QueueError } from '../refusal.ts'
import { agentName, type Agent, type TaskEnd } from '../task.ts'
import { forward, unreadOf } from './end.ts'
import { addHistory, findInHistory } from './history.ts'
import {
  agentOf,
  checkSize,
  livingAgent,
  parseColumn,
  taskById,
  type StoreContext,
} from './rows.ts'
import { forwardStrays } from './settle.ts'
import { receiveStatus } from './status.ts'
import { recordWait } from './waiting.ts'

interface MessageRow {
  readonly seq: number
  readonly id: string
  readonly run: string
  readonly recipient: string
  readonly sender: string
  readonly addressee: string | null
  readonly task: string | null
  readonly body: string
  readonly at: number
  readonly delivery: number
  readonly reader: string | null
  readonly lease_until: number | null
}

export function send(context: StoreContext, { id, run, from, to, body }: NewMessage): void {
  livingAgent(context, run, from)
  if (findInHistory(context, 'sent', id) !== undefined) return
  const recipient = livingAgent(context, run, to).id
  checkSize(context, 'message', body)
  context.db.run(
    'insert into message (id, run, recipient, sender, body, at) values (?, ?, ?, ?, ?, ?)',
    id,
    run,
    recipient,
    agentName(from),
    body,
    context.clock.now(),
  )
  addHistory(context, run, 'sent', id, 0, recipient)
}

const UNREAD = `select * from message where recipient = ?1
  and (reader is null or lease_until <= ?2)`

/** Messages that were forwarded from another agent are not answers to this one. */
const OF_SENDERS = `${UNREAD} and addressee is null
  and sender in (select value from json_each(?4))`

export function lease(
  context: StoreContext,
  run: string,
  agent: Agent,
  { from = [], ...query }: LeaseQuery,
  reader: string,
): Lease[] {
  const { id } = agentOf(context, run, agent)
  return unread(context, id, from, query).map((row) => leaseTo(context, row, reader))
}

export function take(
  context: StoreContext,
  run: string,
  agent: Agent,
  query: TakeQuery,
  reader: string,
): Taken {
  const { from, lifo, isLast = false } = query
  const status = receiveStatus(context, run, agent, from)
  const groups = from === undefined ? [[]] : [...new Set(from)].map((name) => [name])
  const isDue = isLast || haveAllAnswered(query, status)
  const leases = (isDue ? groups : []).flatMap((names) =>
    lease(context, run, agent, { from: names, lifo, max: 1 }, reader),
  )
  const isEnd = isLast || leases.length > 0 || status.nothingToWaitFor || status.deadlock !== null
  if (!isEnd) recordWait(context, run, agent, from ?? [], reader)
  return { ...status, leases }
}

function unread(
  { db, clock }: StoreContext,
  agent: string,
  from: readonly string[],
  { lifo = false, max = 1 }: LeaseQuery,
): MessageRow[] {
  const rest = `order by seq ${lifo ? 'desc' : ''} limit ?3`
  const values = [agent, clock.now(), max] as const
  return from.length === 0
    ? db.all<MessageRow>(`${UNREAD} ${rest}`, ...values)
    : db.all<MessageRow>(`${OF_SENDERS} ${rest}`, ...values, JSON.stringify(from))
}

export function renew(context: StoreContext, run: string, agent: Agent, reader: string): void {
  agentOf(context, run, agent)
  const until = context.clock.now() + context.times.readerLeaseMs
  context.db.run(
    'update message set lease_until = ? where reader = ? and run = ?',
    until,
    reader,
    run,
  )
}

function leaseTo(context: StoreContext, row: MessageRow, reader: string): Lease {
  if (row.reader !== null)
    addHistory(context, row.run, 'returned', row.id, row.delivery, row.reader)
  const delivery = row.delivery + 1
  context.db.run(
    'update message set delivery = ?, reader = ?, lease_until = ? where seq = ?',
    delivery,
    reader,
    context.clock.now() + context.times.readerLeaseMs,
    row.seq,
  )
  addHistory(context, row.run, 'leased', row.id, delivery, reader)
  return { message: messageOf(context, row), reader, delivery }
}

function messageOf(context: StoreContext, row: MessageRow): InboxMessage {
  const { id, sender: from, at, task, body } = row
  if (task === null) return { kind: 'text', id, from, at, body, ...toOf(row) }
  const result = context.db.get<{ attempt: number; end: string }>(
    'select attempt, end from task where id = ?',
    task,
  )
  if (result === undefined) {
    const detail = `the task of message ${id} is missing`
    throw new QueueError({ kind: 'altered', place: context.db.place, detail })
  }
  const { attempt } = result
  const end = parseColumn<TaskEnd>(context, 'task.end', result.end)
  return { kind: 'result', id, from, at, task, attempt, end }
}

function toOf({ addressee }: Pick<MessageRow, 'addressee'>): { readonly to?: string } {
  return addressee === null ? {} : { to: addressee }
}

export function ack(context: StoreContext, leases: readonly Lease[]): boolean[] {
  return leases.map((leased) => ackOne(context, leased))
}

function ackOne(context: StoreContext, { message, reader, delivery }: Lease): boolean {
  const row = context.db.get<Pick<MessageRow, 'run'>>(
    'delete from message where id = ? and reader = ? and delivery = ? returning run',
    message.id,
    reader,
    delivery,
  )
  if (row === undefined) return false
  addHistory(context, row.run, 'acked', message.id, 0, `${reader} ${delivery}`)
  return true
}

export function releaseReaders(context: StoreContext, readers: readonly string[]): void {
  for (const reader of readers) {
    release(context, context.db.all<MessageRow>('select * from message where reader = ?', reader))
    context.db.run('delete from waiting where reader = ?', reader)
  }
}

/** Ends expired waits and leases of a run, and all those of dead readers. */
export function releaseStale(context: StoreContext, run: string, dead: readonly string[]): void {
  const now = context.clock.now()
  context.db.run('delete from waiting where run = ? and until <= ?', run, now)
  const expired = 'select * from message where reader is not null and run = ? and lease_until <= ?'
  release(context, context.db.all<MessageRow>(expired, run, now))
  releaseReaders(context, dead)
}

function release(context: StoreContext, rows: readonly MessageRow[]): void {
  for (const row of rows) {
    context.db.run('update message set reader = null, lease_until = null where seq = ?', row.seq)
    addHistory(context, row.run, 'returned', row.id, row.delivery, row.reader!)
  }
  for (const recipient of new Set(rows.map((row) => row.recipient))) {
    const agent = taskById(context, recipient)!
    // The agent may have ended together with its reader.
    if (agent.state === 'ended') forward(context, agent, unreadOf(context, agent))
    else forwardStrays(context, agent)
  }
}

type InboxRow = Omit<MessageRow, 'body'>

export function inbox(context: StoreContext, run: string, agent: Agent): InboxLine[] {
  const now = context.clock.now()
  return context.db
    .all<InboxRow>(
      `select id, sender, addressee, task, at, reader, lease_until from message
       where recipient = ? order by seq`,
      agentOf(context, run, agent).id,
    )
    .map(({ id, sender, addressee, task, at, reader, lease_until }) => ({
      id,
      from: sender,
      ...toOf({ addressee }),
      kind: task === null ? 'text' : 'result',
      ageMs: Math.max(0, now - at),
      ...(reader !== null && lease_until! > now ? { isLeased: true, reader } : { isLeased: false }),
    }))
}
