import type { ReceiveStatus, SenderStatus } from '../message.ts'
import type { Counts, ListQuery } from '../store.ts'
import type { Agent, Task, TaskBrief } from '../task.ts'
import type { StoreContext, TaskRow } from './rows.ts'
import {
  agentOf,
  briefOf,
  COLUMNS,
  countOf,
  liveAgent,
  parseColumn,
  taskById,
  taskOf,
} from './rows.ts'

export function receiveStatus(
  context: StoreContext,
  run: string,
  agent: Agent,
  from: readonly string[] = [],
): ReceiveStatus {
  const { id } = agentOf(context, run, agent)
  const names = from.length > 0 ? from : atWork(context, run, id)
  const senders = names.map((name) => ({ name, status: statusOf(context, run, id, name) }))
  const all =
    from.length > 0 ? senders.map(({ status }) => status) : allStatuses(context, run, id, names)
  const isThere = all.includes('received')
  const circle = isThere ? null : deadlockOf(context, id)
  const isAlone = circle?.length === 0
  return {
    senders,
    // A deadlock is reported to each of its agents, even if the others have left it by now.
    nothingToWaitFor: !isThere && (isAlone || (circle === null && !all.includes('running'))),
    isHeld: (from.length > 0 ? from : [undefined]).some(
      (name) => messageTo(context, id, name) === 'running',
    ),
    deadlock: isAlone ? null : circle,
  }
}

/** For a wait for anyone: messages of ended agents and tasks that are only ready count too. */
function allStatuses(
  context: StoreContext,
  run: string,
  agent: string,
  names: readonly string[],
): SenderStatus[] {
  const message = messageTo(context, agent)
  const isAny = names.length > 0 || isReady(context, run)
  return [...(message === undefined ? [] : [message]), ...(isAny ? (['running'] as const) : [])]
}

function isReady({ db }: StoreContext, run: string): boolean {
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

/** `running` if the message is leased to a reader, because it may come back. */
function messageTo(
  { db, clock }: StoreContext,
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

function statusOf(context: StoreContext, run: string, to: string, name: string): SenderStatus {
  const message = messageTo(context, to, name)
  if (message !== undefined) return message
  const agent = liveAgent(context, run, name)
  if (agent === undefined) return 'dead'
  return agent.state === 'queued' || agent.state === 'idle' ? 'idle' : 'running'
}

function atWork({ db }: StoreContext, run: string, agent: string): string[] {
  const rows = db.all<{ name: string }>(
    `select name from task where run = ? and state = 'running' and id <> ?
     order by seq`,
    run,
    agent,
  )
  return rows.map(({ name }) => name)
}

function deadlockOf(context: StoreContext, agent: string): readonly string[] | null {
  const row = context.db.get<{ deadlock: string }>(
    'select deadlock from waiting where agent = ? and deadlock is not null',
    agent,
  )
  return row === undefined ? null : parseColumn<string[]>(context, 'waiting.deadlock', row.deadlock)
}

export function list(
  context: StoreContext,
  run: string,
  { agent, states, isDue = false, most = -1 }: ListQuery = {},
): TaskBrief[] {
  const now = context.clock.now()
  const parts = ['run = ? and depth > 0']
  const values: (string | number)[] = [run]
  const wanted = isDue ? ['ready'] : states
  if (wanted !== undefined) {
    parts.push('state in (select value from json_each(?)) and is_drained in (0, 1)')
    values.push(JSON.stringify(wanted))
  }
  if (agent !== undefined) {
    parts.push('parent = ?')
    values.push(agentOf(context, run, agent).id)
  }
  if (isDue) {
    parts.push('not_before <= ?')
    values.push(now)
  }
  // Of thousands of children most have ended.
  const from = wanted === undefined ? 'task' : 'task indexed by task_by_state'
  const sql = `select ${COLUMNS} from ${from} where ${parts.join(' and ')} order by seq limit ?`
  return context.db.all<TaskRow>(sql, ...values, most).map((row) => briefOf(context, row, now))
}

export function task(context: StoreContext, run: string, id: string): Task | undefined {
  const row = taskById(context, id)
  const isKnown = row?.run === run && row.depth > 0
  return isKnown ? taskOf(context, row, context.clock.now()) : undefined
}

export function counts(context: StoreContext, run: string): Counts {
  const { db, limits } = context
  const queued = countOf(context, run, 'queued')
  const ready = countOf(context, run, 'ready')
  const running = countOf(context, run, 'running')
  const { messages } = db.get<{ messages: number }>(
    'select count(*) as messages from message where run = ?',
    run,
  )!
  return {
    queued,
    ready,
    running,
    ended: countOf(context, run, 'ended'),
    messages,
    queueLeft: Math.max(0, limits.queued - queued - ready),
    slotsLeft: Math.max(0, limits.running - running),
  }
}
