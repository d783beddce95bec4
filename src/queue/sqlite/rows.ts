import type { Clock, QueueLimits, QueueTimes } from '../limits.ts'
import { QueueError } from '../refusal.ts'
import type { StepAgent } from '../store.ts'
import {
  BRIEF_LENGTH,
  MAIN,
  type Agent,
  type TaskEnd,
  type TaskEndBrief,
  type QueuedTask,
  type TaskBrief,
  type TaskHead,
  type QueuedTaskOptions,
  type TaskState,
} from '../task.ts'
import type { Connection } from './connection.ts'

export interface StoreContext {
  readonly db: Connection
  readonly clock: Clock
  readonly limits: QueueLimits
  readonly times: QueueTimes
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

export function firstCharacters(text: string): string {
  return text.length <= BRIEF_LENGTH
    ? text
    : Array.from(text.slice(0, 2 * BRIEF_LENGTH))
        .slice(0, BRIEF_LENGTH)
        .join('')
}

/** Whether this is the whole text; a longer prompt is also in the table `prompt`. */
export function isWholePrompt(beginning: string): boolean {
  return beginning.length < BRIEF_LENGTH
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
  const end = outcome === null ? null : parseColumn<TaskEndBrief>(context, 'task.outcome', outcome)
  return { ...headOf(context, row, now), beginning: row.beginning, end }
}

export function taskOf(context: StoreContext, row: TaskRow, now: number): QueuedTask {
  return { ...headOf(context, row, now), prompt: promptOf(context, row), end: endOf(context, row) }
}

function promptOf({ db }: StoreContext, { seq, beginning }: TaskRow): string {
  if (isWholePrompt(beginning)) return beginning
  return db.get<{ text: string }>('select text from prompt where task = ?', seq)!.text
}

function endOf(context: StoreContext, { seq, outcome }: TaskRow): TaskEnd | null {
  if (outcome === null) return null
  const { end } = context.db.get<{ end: string }>('select end from task where seq = ?', seq)!
  return parseColumn<TaskEnd>(context, 'task.end', end)
}

function headOf(context: StoreContext, row: TaskRow, now: number): TaskHead {
  const { id, run, name, parent, retry, depth, attempt, state, worker, cancelled } = row
  const options = parseColumn<QueuedTaskOptions>(context, 'task.options', row.options)
  const times = { pushedAt: row.at, ageMs: Math.max(0, now - row.since) }
  return {
    id,
    run,
    name,
    parent,
    options,
    retry,
    depth,
    attempt,
    state,
    ...times,
    worker,
    cancelled,
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

export function stepAgents({ db }: StoreContext, run: string): (StepAgent & { id: string })[] {
  return db.all<StepAgent & { id: string }>(
    'select id, name, state from task where parent is null and run = ? order by seq',
    run,
  )
}

/** How many tasks are in a state; the agents of steps are never queued, ready or ended. */
export function countOf({ db }: StoreContext, run: string, state: TaskState): number {
  const isTask = state === 'running' ? 'and depth > 0' : ''
  // The state is not a parameter, because SQLite would then plan the query again for each value.
  const sql = `select count(*) as count from task where run = ? and state = '${state}' ${isTask}`
  return db.get<{ count: number }>(sql, run)!.count
}
