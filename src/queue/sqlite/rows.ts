import type { Clock, Limits, Times } from '../limits.ts'
import { QueueError } from '../refusal.ts'
import {
  MAIN,
  type Agent,
  type End,
  type EndBrief,
  type Task,
  type TaskBrief,
  type TaskHead,
  type TaskOptions,
  type TaskState,
} from '../task.ts'
import type { Connection } from './connection.ts'

export interface StoreContext {
  readonly db: Connection
  readonly clock: Clock
  readonly limits: Limits
  readonly times: Times
  readonly isSecret?: ((text: string) => boolean) | undefined
}

/** A task without its long texts. */
export interface TaskRow {
  readonly seq: number
  readonly id: string
  readonly run: string
  readonly parent: string | null
  readonly name: string
  readonly beginning: string
  readonly options: string
  readonly retry: number
  readonly depth: number
  readonly state: TaskState
  readonly at: number
  readonly since: number
  readonly attempt: number
  readonly not_before: number
  readonly worker: string | null
  readonly lease_until: number | null
  readonly is_drained: number
  readonly drain_width: number | null
  readonly cancelled: string | null
  readonly outcome: string | null
}

export const COLUMNS = `seq, id, run, parent, name, beginning, options, retry, depth, state, at, since,
  attempt, not_before, worker, lease_until, is_drained, drain_width, cancelled, outcome`

const BEGINNING = 200

export function beginningOf(text: string): string {
  return text.length <= BEGINNING
    ? text
    : Array.from(text.slice(0, 2 * BEGINNING))
        .slice(0, BEGINNING)
        .join('')
}

/** Whether this is the whole text; a prompt that is not is also in the table `prompt`. */
export function isWhole(beginning: string): boolean {
  return beginning.length < BEGINNING
}

/** Refuses a value that is not JSON: another program wrote it. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function parseColumn<Value extends object>(
  { db }: StoreContext,
  column: string,
  json: string,
): Value {
  const value = parseObject(json)
  if (value !== undefined) return value as Value
  throw new QueueError({ kind: 'altered', place: db.place, detail: `${column} is not valid` })
}

function parseObject(json: string): object | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

export function briefOf(context: StoreContext, row: TaskRow, now: number): TaskBrief {
  const { outcome } = row
  const end = outcome === null ? null : parseColumn<EndBrief>(context, 'task.outcome', outcome)
  return { ...headOf(context, row, now), beginning: row.beginning, end }
}

export function taskOf(context: StoreContext, row: TaskRow, now: number): Task {
  return { ...headOf(context, row, now), prompt: promptOf(context, row), end: endOf(context, row) }
}

function promptOf({ db }: StoreContext, { seq, beginning }: TaskRow): string {
  if (isWhole(beginning)) return beginning
  return db.get<{ text: string }>('select text from prompt where task = ?', seq)!.text
}

function endOf(context: StoreContext, { seq, outcome }: TaskRow): End | null {
  if (outcome === null) return null
  const { end } = context.db.get<{ end: string }>('select end from task where seq = ?', seq)!
  return parseColumn<End>(context, 'task.end', end)
}

function headOf(context: StoreContext, row: TaskRow, now: number): TaskHead {
  return {
    id: row.id,
    run: row.run,
    name: row.name,
    parent: row.parent,
    options: parseColumn<TaskOptions>(context, 'task.options', row.options),
    retry: row.retry,
    depth: row.depth,
    attempt: row.attempt,
    state: row.state,
    pushedAt: row.at,
    ageMs: Math.max(0, now - row.since),
    worker: row.worker,
    cancelled: row.cancelled,
  }
}

export function taskById({ db }: StoreContext, id: string): TaskRow | undefined {
  return db.get<TaskRow>(`select ${COLUMNS} from task where id = ?`, id)
}

export function liveAgent(context: StoreContext, run: string, name: string): TaskRow | undefined {
  return context.db.get<TaskRow>(
    `select ${COLUMNS} from task where run = ? and name = ? and outcome is null`,
    run,
    name,
  )
}

/** Refuses an agent that acts for a finished attempt. */
export function agentOf(context: StoreContext, run: string, agent: Agent): TaskRow {
  if (typeof agent === 'string') return agentNamed(context, run, agent)
  const { name, task } = agent
  const row = taskById(context, task)
  if (row?.run !== run || row.name !== name) throw new QueueError({ kind: 'unknown_agent', name })
  const isNow = !('attempt' in agent) || (row.state === 'running' && row.attempt === agent.attempt)
  if (!isNow) throw new QueueError({ kind: 'agent_ended', name })
  return row
}

/** Also refuses an agent that has ended. */
export function livingAgent(context: StoreContext, run: string, agent: Agent): TaskRow {
  const row = agentOf(context, run, agent)
  if (row.state === 'ended') throw new QueueError({ kind: 'agent_ended', name: row.name })
  return row
}

/** The live agent of that name, or the last one that had it. */
export function agentNamed(context: StoreContext, run: string, name: string): TaskRow {
  const agent =
    liveAgent(context, run, name) ??
    context.db.get<TaskRow>(
      `select ${COLUMNS} from task where run = ? and name = ? and state = 'ended'
       order by seq desc limit 1`,
      run,
      name,
    )
  if (agent !== undefined) return agent
  if (liveAgent(context, run, MAIN) === undefined)
    throw new QueueError({ kind: 'unknown_run', run })
  throw new QueueError({ kind: 'unknown_agent', name })
}

export function checkSize(
  context: StoreContext,
  what: 'prompt' | 'message' | 'result',
  text: string,
): void {
  const limit = context.limits.messageBytes
  const bytes = Buffer.byteLength(text)
  if (bytes > limit) throw new QueueError({ kind: 'too_big', what, bytes, limit })
}

/** How many tasks are in a state; `main` is never queued, ready or ended. */
export function countOf({ db }: StoreContext, run: string, state: TaskState): number {
  const notMain = state === 'running' ? 'and depth > 0' : ''
  // The state is not a parameter, because SQLite would then plan the query again for each value.
  const sql = `select count(*) as count from task where run = ? and state = '${state}' ${notMain}`
  return db.get<{ count: number }>(sql, run)!.count
}
