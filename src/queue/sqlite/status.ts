import type { ReceiveStatus, SenderStatus } from '../message.ts'
import type { Counts, ListQuery } from '../store.ts'
import type { Agent, Task, TaskBrief } from '../task.ts'
import type { Books, TaskRow } from './rows.ts'
import { agentOf, briefOf, COLUMNS, countOf, liveAgent, taskById, taskOf } from './rows.ts'

export function receiveStatus(
  books: Books,
  run: string,
  agent: Agent,
  from: readonly string[] = [],
): ReceiveStatus {
  const { id } = agentOf(books, run, agent)
  const names = from.length > 0 ? from : atWork(books, run, id)
  const senders = names.map((name) => ({ name, status: statusOf(books, run, id, name) }))
  const all =
    from.length > 0 ? senders.map(({ status }) => status) : allStatuses(books, run, id, names)
  const isThere = all.includes('received')
  const circle = isThere ? null : deadlockOf(books, id)
  const isAlone = circle?.length === 0
  return {
    senders,
    // Who is in a circle is told of it, also where the others have been told before and are gone.
    nothingToWaitFor: !isThere && (isAlone || (circle === null && !all.includes('running'))),
    isHeld: (from.length > 0 ? from : [undefined]).some(
      (name) => messageTo(books, id, name) === 'running',
    ),
    deadlock: isAlone ? null : circle,
  }
}

/** Of anybody a message is welcome, also of one who is dead by now or has not begun. */
function allStatuses(
  books: Books,
  run: string,
  agent: string,
  names: readonly string[],
): SenderStatus[] {
  const message = messageTo(books, agent)
  const isAny = names.length > 0 || isReady(books, run)
  return [...(message === undefined ? [] : [message]), ...(isAny ? (['running'] as const) : [])]
}

function isReady({ db }: Books, run: string): boolean {
  return db.get(`select 1 from task where run = ? and state = 'ready' limit 1`, run) !== undefined
}

/** Each ends at the first that it finds: there may be thousands. */
function selectOf(which: string): string {
  return `select
    exists (select 1 from message where ${which} and (reader is null or lease_until <= ?2)) as free,
    exists (select 1 from message where ${which}) as held`
}

const OF_ANYBODY = selectOf('recipient = ?1')
const OF_ONE = selectOf('recipient = ?1 and sender = ?3 and addressee is null')

/** Whether a message can be had now; one in a reader's hand may come back. */
function messageTo(
  { db, clock }: Books,
  agent: string,
  from?: string,
): 'received' | 'running' | undefined {
  type Found = { readonly free: number; readonly held: number }
  const { free, held } =
    from === undefined
      ? db.get<Found>(OF_ANYBODY, agent, clock.now())!
      : db.get<Found>(OF_ONE, agent, clock.now(), from)!
  if (free === 1) return 'received'
  return held === 1 ? 'running' : undefined
}

function statusOf(books: Books, run: string, to: string, name: string): SenderStatus {
  const message = messageTo(books, to, name)
  if (message !== undefined) return message
  const agent = liveAgent(books, run, name)
  if (agent === undefined) return 'dead'
  return agent.state === 'queued' || agent.state === 'idle' ? 'idle' : 'running'
}

function atWork({ db }: Books, run: string, agent: string): string[] {
  const rows = db.all<{ name: string }>(
    `select name from task where run = ? and state = 'running' and id <> ?
     order by seq`,
    run,
    agent,
  )
  return rows.map(({ name }) => name)
}

function deadlockOf({ db }: Books, agent: string): readonly string[] | null {
  const row = db.get<{ deadlock: string }>(
    'select deadlock from waiting where agent = ? and deadlock is not null',
    agent,
  )
  return row === undefined ? null : (JSON.parse(row.deadlock) as string[])
}

export function list(
  books: Books,
  run: string,
  { agent, states, isDue = false, most = -1 }: ListQuery = {},
): TaskBrief[] {
  const now = books.clock.now()
  const parts = ['run = ? and depth > 0']
  const values: (string | number)[] = [run]
  const wanted = isDue ? ['ready'] : states
  if (wanted !== undefined) {
    parts.push('state in (select value from json_each(?)) and is_drained in (0, 1)')
    values.push(JSON.stringify(wanted))
  }
  if (agent !== undefined) {
    parts.push('parent = ?')
    values.push(agentOf(books, run, agent).id)
  }
  if (isDue) {
    parts.push('not_before <= ?')
    values.push(now)
  }
  // Of thousands of children most have ended.
  const from = wanted === undefined ? 'task' : 'task indexed by task_by_state'
  const sql = `select ${COLUMNS} from ${from} where ${parts.join(' and ')} order by seq limit ?`
  return books.db.all<TaskRow>(sql, ...values, most).map((row) => briefOf(row, now))
}

export function task(books: Books, run: string, id: string): Task | undefined {
  const row = taskById(books, id)
  const isKnown = row?.run === run && row.depth > 0
  return isKnown ? taskOf(books, row, books.clock.now()) : undefined
}

export function counts(books: Books, run: string): Counts {
  const { db, limits } = books
  const queued = countOf(books, run, 'queued')
  const ready = countOf(books, run, 'ready')
  const running = countOf(books, run, 'running')
  const { messages } = db.get<{ messages: number }>(
    'select count(*) as messages from message where run = ?',
    run,
  )!
  return {
    queued,
    ready,
    running,
    ended: countOf(books, run, 'ended'),
    messages,
    queueLeft: Math.max(0, limits.queued - queued - ready),
    slotsLeft: Math.max(0, limits.running - running),
  }
}
