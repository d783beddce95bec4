import type { ReceiveStatus, SenderStatus } from '../message.ts'
import type { Counts, ListQuery, Outlook, StepAgent } from '../store.ts'
import type { Agent, QueuedTask, TaskBrief } from '../task.ts'
import {
  agentOf,
  briefOf,
  COLUMNS,
  countOf,
  liveAgent,
  parseColumn,
  stepAgents,
  taskById,
  taskOf,
  type StoreContext,
  type TaskRow,
} from './rows.ts'

export function receiveStatus(
  context: StoreContext,
  run: string,
  agent: Agent,
  from: readonly string[] = [],
): ReceiveStatus {
  const { id } = agentOf(context, run, agent)
  const isForAnyone = from.length === 0
  const names = isForAnyone ? runningAgents(context, run, id) : from
  const senders = names.map((name) => ({ name, status: statusOf(context, run, id, name) }))
  const all = isForAnyone
    ? allStatuses(context, run, id, names)
    : senders.map(({ status }) => status)
  const hasMessage = all.includes('received')
  const cycle = hasMessage ? null : deadlockOf(context, id)
  const isAlone = cycle?.length === 0
  return {
    senders,
    // A deadlock is reported to each of its agents, even after the others have stopped waiting.
    nothingToWaitFor: !hasMessage && (isAlone || (cycle === null && !all.includes('running'))),
    isHeld: (isForAnyone ? [undefined] : from).some(
      (name) => messageTo(context, id, name) === 'running',
    ),
    deadlock: isAlone ? null : cycle,
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

/** Whether there is a message; `running` if it is leased to a reader, because it may come back. */
export function messageTo(
  { db, clock }: StoreContext,
  agent: string,
  from?: string,
): 'received' | 'running' | undefined {
  const which = from === undefined ? '' : 'and sender = ?3 and addressee is null'
  const row = db.get<{ is_free: number }>(
    `select reader is null or lease_until <= ?2 as is_free from message
     where recipient = ?1 ${which} order by is_free desc limit 1`,
    agent,
    clock.now(),
    ...(from === undefined ? [] : [from]),
  )
  return row === undefined ? undefined : row.is_free === 1 ? 'received' : 'running'
}

function statusOf(context: StoreContext, run: string, to: string, name: string): SenderStatus {
  const message = messageTo(context, to, name)
  if (message !== undefined) return message
  const agent = liveAgent(context, run, name)
  if (agent === undefined) return 'dead'
  return agent.state === 'queued' || agent.state === 'idle' ? 'idle' : 'running'
}

function runningAgents({ db }: StoreContext, run: string, agent: string): string[] {
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
  { agent, states, isDue = false }: ListQuery = {},
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
  // Not by parent, because most of its thousands of children may have ended.
  const from = wanted === undefined ? 'task' : 'task indexed by task_by_state'
  const sql = `select ${COLUMNS} from ${from} where ${parts.join(' and ')} order by seq`
  return context.db.all<TaskRow>(sql, ...values).map((row) => briefOf(context, row, now))
}

export function task(context: StoreContext, run: string, id: string): QueuedTask | undefined {
  const row = taskById(context, id)
  const isKnown = row?.run === run && row.depth > 0
  return isKnown ? taskOf(context, row, context.clock.now()) : undefined
}

export function stepAgentsOf(context: StoreContext, run: string): StepAgent[] {
  return stepAgents(context, run).map(({ name, state }) => ({ name, state }))
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

const STARTED = `state in ('ready', 'running') and is_drained in (0, 1)`

/** The tasks of an agent end after their own tasks, unless they had to release their slots. */
const STARTED_BELOW = `with recursive open (id, parent) as (
    select id, parent from task indexed by task_by_state where run = ?1 and ${STARTED} and depth > 0
    union select task.id, task.parent from task join open on task.id = open.parent
  ) select 1 from open where parent = ?2 limit 1`

export function isAwaiting(context: StoreContext, run: string, agent: Agent): boolean {
  const { id } = agentOf(context, run, agent)
  const direct = `select 1 from task indexed by task_by_state
    where run = ?1 and ${STARTED} and parent = ?2 limit 1`
  return [direct, STARTED_BELOW].some((sql) => context.db.get(sql, run, id) !== undefined)
}

interface OutlookRow {
  readonly is_ready: number
  readonly is_running: number
  readonly cancelling: number
  readonly next: number | null
  /** When the latest pause began. */
  readonly latest: number | null
}

/**
 * Uses only indexes, because there may be thousands of tasks. `+ 0` keeps SQLite from planning the query
 * again for each value.
 */
const OUTLOOK = `select
  exists (select 1 from task where run = ?1 and state = 'ready') as is_ready,
  exists (select 1 from task where run = ?1 and state = 'running' and depth > 0) as is_running,
  (select count(*) from task where run = ?1 and state = 'running' and cancelled is not null)
    as cancelling,
  (select min(not_before) from task where run = ?1 and state = 'ready' and not_before > 0
    and not_before > ?2 + 0) as next,
  (select max(paused_at) from task where run = ?1 and state = 'ready' and not_before > 0) as latest`

export function outlook({ db, clock }: StoreContext, run: string): Outlook {
  const now = clock.now()
  const { is_ready, is_running, cancelling, next, latest } = db.get<OutlookRow>(OUTLOOK, run, now)!
  // If the clock was set back, the next claim restarts the pauses.
  const isSetBack = latest !== null && latest > now
  return {
    isReady: is_ready === 1,
    isRunning: is_running === 1,
    cancelling,
    nextReadyInMs: next === null ? null : isSetBack ? 0 : next - now,
  }
}
