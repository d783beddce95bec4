import { isOver } from '../message.ts'
import type {
  InboxLine,
  Lease,
  LeaseQuery,
  Message,
  NewMessage,
  TakeQuery,
  Taken,
} from '../message.ts'
import { nameOf, type Agent, type End } from '../task.ts'
import { forwardStrays } from './again.ts'
import { forwardUnread } from './end.ts'
import { isNoted, note } from './note.ts'
import type { Books, TaskRow } from './rows.ts'
import { agentOf, livingAgent, refuseBig, taskById } from './rows.ts'
import { receiveStatus } from './status.ts'

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

export function send(books: Books, { id, run, from, to, body }: NewMessage): void {
  livingAgent(books, run, from)
  if (isNoted(books, 'sent', id)) return
  const recipient = livingAgent(books, run, to).id
  refuseBig(books, 'message', body)
  books.db.run(
    'insert into message (id, run, recipient, sender, body, at) values (?, ?, ?, ?, ?, ?)',
    id,
    run,
    recipient,
    nameOf(from),
    body,
    books.clock.now(),
  )
  note(books, run, 'sent', id, 0, recipient)
}

const UNREAD = `select * from message where recipient = ?1
  and (reader is null or lease_until <= ?2)`

/** Whoever asks for somebody's answer does not mean what was for another. */
const OF_SENDERS = `${UNREAD} and addressee is null
  and sender in (select value from json_each(?4))`

export function lease(
  books: Books,
  run: string,
  agent: Agent,
  { from = [], ...query }: LeaseQuery,
  reader: string,
): Lease[] {
  const { id } = agentOf(books, run, agent)
  return unread(books, id, from, query).map((row) => hand(books, row, reader))
}

/** Status and messages of one moment: of what it says nothing is gone to another reader. */
export function take(
  books: Books,
  run: string,
  agent: Agent,
  query: TakeQuery,
  reader: string,
): Taken {
  const { from, lifo, isLast = false } = query
  const status = receiveStatus(books, run, agent, from)
  if (!isLast && !isOver(query, status)) return { ...status, leases: [] }
  const groups = from === undefined ? [[]] : [...new Set(from)].map((name) => [name])
  const leases = groups.flatMap((names) =>
    lease(books, run, agent, { from: names, lifo, max: 1 }, reader),
  )
  return { ...status, leases }
}

function unread(
  { db, clock }: Books,
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

export function renew(books: Books, run: string, agent: Agent, reader: string): void {
  agentOf(books, run, agent)
  const until = books.clock.now() + books.times.readerLeaseMs
  books.db.run(
    'update message set lease_until = ? where reader = ? and run = ?',
    until,
    reader,
    run,
  )
}

function hand(books: Books, row: MessageRow, reader: string): Lease {
  if (row.reader !== null) note(books, row.run, 'returned', row.id, row.delivery, row.reader)
  const delivery = row.delivery + 1
  books.db.run(
    'update message set delivery = ?, reader = ?, lease_until = ? where seq = ?',
    delivery,
    reader,
    books.clock.now() + books.times.readerLeaseMs,
    row.seq,
  )
  note(books, row.run, 'leased', row.id, delivery, reader)
  return { message: messageOf(books, row), reader, delivery }
}

function messageOf(books: Books, row: MessageRow): Message {
  const { id, sender: from, at, task, body } = row
  if (task === null) return { kind: 'text', id, from, at, body, ...toOf(row) }
  const { attempt, end } = books.db.get<{ attempt: number; end: string }>(
    'select attempt, end from task where id = ?',
    task,
  )!
  return { kind: 'result', id, from, at, task, attempt, end: JSON.parse(end) as End }
}

function toOf({ addressee }: Pick<MessageRow, 'addressee'>): { readonly to?: string } {
  return addressee === null ? {} : { to: addressee }
}

export function ack(books: Books, { message, reader, delivery }: Lease): boolean {
  const row = books.db.get<Pick<MessageRow, 'run'>>(
    'delete from message where id = ? and reader = ? and delivery = ? returning run',
    message.id,
    reader,
    delivery,
  )
  if (row === undefined) return false
  note(books, row.run, 'acked', message.id, 0, `${reader} ${delivery}`)
  return true
}

export function releaseReader(books: Books, reader: string): void {
  const rows = books.db.all<MessageRow>('select * from message where reader = ?', reader)
  release(books, rows)
  books.db.run('delete from waiting where reader = ?', reader)
}

/** Readers that are gone: what they have in hand is taken back, and they wait no more. */
export function releaseDead(books: Books, run: string, dead: readonly string[]): void {
  dropWaits(books, run, dead)
  releaseStale(books, run, dead)
}

export function dropWaits({ db, clock }: Books, run: string, dead: readonly string[]): void {
  db.run('delete from waiting where run = ? and until <= ?', run, clock.now())
  for (const reader of dead) db.run('delete from waiting where run = ? and reader = ?', run, reader)
}

/** Takes back, in one run, what dead readers or readers that took too long have in hand. */
export function releaseStale(books: Books, run: string, dead: readonly string[]): void {
  const gone = new Set(dead)
  const now = books.clock.now()
  const rows = books.db
    .all<MessageRow>('select * from message where reader is not null and run = ?', run)
    .filter((row) => row.lease_until! <= now || gone.has(row.reader!))
  release(books, rows)
}

function release(books: Books, rows: readonly MessageRow[]): void {
  const recipients = new Map<string, TaskRow>()
  for (const row of rows) {
    books.db.run('update message set reader = null, lease_until = null where seq = ?', row.seq)
    note(books, row.run, 'returned', row.id, row.delivery, row.reader!)
    recipients.set(row.recipient, taskById(books, row.recipient)!)
  }
  // Its reader is gone, and so is the agent for which it read.
  for (const agent of recipients.values()) {
    if (agent.state === 'ended') forwardUnread(books, agent)
    else forwardStrays(books, agent)
  }
}

type InboxRow = Omit<MessageRow, 'body'>

export function inbox(books: Books, run: string, agent: Agent): InboxLine[] {
  const now = books.clock.now()
  return books.db
    .all<InboxRow>(
      `select id, sender, addressee, task, at, reader, lease_until from message
       where recipient = ? order by seq`,
      agentOf(books, run, agent).id,
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
