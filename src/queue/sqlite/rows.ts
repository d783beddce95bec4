import type { Clock } from '../clock.ts'
import type { Limits, Times } from '../limits.ts'
import { QueueError } from '../refusal.ts'
import type {
  Agent,
  End,
  EndBrief,
  Task,
  TaskBrief,
  TaskHead,
  TaskOptions,
  TaskState,
} from '../task.ts'
import { MAIN } from '../task.ts'
import type { Connection } from './connection.ts'

/** What every part of the store works with. */
export interface Books {
  readonly db: Connection
  readonly clock: Clock
  readonly limits: Limits
  readonly times: Times
  /** How often the history grew through us. */
  readonly pulse: { count: number }
}

/** A task without what may be long. */
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

/** So much of a long text is enough to know it by. */
const BEGINNING = 200

export function beginningOf(text: string): string {
  return text.length <= BEGINNING
    ? text
    : Array.from(text.slice(0, 2 * BEGINNING))
        .slice(0, BEGINNING)
        .join('')
}

/** Whether the beginning of a text, or the text itself, is all of it. */
export function isWhole(beginning: string): boolean {
  return beginning.length < BEGINNING
}

export function briefOf(row: TaskRow, now: number): TaskBrief {
  const end = row.outcome === null ? null : (JSON.parse(row.outcome) as EndBrief)
  return { ...headOf(row, now), beginning: row.beginning, end }
}

/** All of it, which is for one of them at a time. */
export function taskOf(books: Books, row: TaskRow, now: number): Task {
  return { ...headOf(row, now), prompt: promptOf(books, row), end: endOf(books, row) }
}

function promptOf({ db }: Books, { seq, beginning }: TaskRow): string {
  if (isWhole(beginning)) return beginning
  return db.get<{ text: string }>('select text from prompt where task = ?', seq)!.text
}

function endOf({ db }: Books, { seq, outcome }: TaskRow): End | null {
  if (outcome === null) return null
  const { end } = db.get<{ end: string }>('select end from task where seq = ?', seq)!
  return JSON.parse(end) as End
}

function headOf(row: TaskRow, now: number): TaskHead {
  return {
    id: row.id,
    run: row.run,
    name: row.name,
    parent: row.parent,
    options: JSON.parse(row.options) as TaskOptions,
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

export function taskById({ db }: Books, id: string): TaskRow | undefined {
  return db.get<TaskRow>(`select ${COLUMNS} from task where id = ?`, id)
}

export function liveAgent(books: Books, run: string, name: string): TaskRow | undefined {
  return books.db.get<TaskRow>(
    `select ${COLUMNS} from task where run = ? and name = ? and outcome is null`,
    run,
    name,
  )
}

/** The agent of that name; of several the one that lives, else the last that did. */
function knownAgent(books: Books, run: string, name: string): TaskRow | undefined {
  return (
    liveAgent(books, run, name) ??
    books.db.get<TaskRow>(
      `select ${COLUMNS} from task where run = ? and name = ? and state = 'ended'
       order by seq desc limit 1`,
      run,
      name,
    )
  )
}

/** Whoever acts or is asked about; of one that acts, no other attempt than the present one. */
export function agentOf(books: Books, run: string, agent: Agent): TaskRow {
  if (typeof agent === 'string') return agentNamed(books, run, agent)
  const { name, task } = agent
  const row = taskById(books, task)
  if (row?.run !== run || row.name !== name) throw new QueueError({ kind: 'unknown_agent', name })
  const isNow = !('attempt' in agent) || (row.state === 'running' && row.attempt === agent.attempt)
  if (!isNow) throw new QueueError({ kind: 'agent_ended', name })
  return row
}

/** The same, and it must not have ended. */
export function livingAgent(books: Books, run: string, agent: Agent): TaskRow {
  const row = agentOf(books, run, agent)
  if (row.state === 'ended') throw new QueueError({ kind: 'agent_ended', name: row.name })
  return row
}

export function agentNamed(books: Books, run: string, name: string): TaskRow {
  const agent = knownAgent(books, run, name)
  if (agent !== undefined) return agent
  if (liveAgent(books, run, MAIN) === undefined) throw new QueueError({ kind: 'unknown_run', run })
  throw new QueueError({ kind: 'unknown_agent', name })
}

export function refuseBig(books: Books, what: 'prompt' | 'message' | 'result', text: string): void {
  const limit = books.limits.messageBytes
  // No text has more bytes than three times its length.
  if (text.length * 3 <= limit) return
  const bytes = Buffer.byteLength(text)
  if (bytes > limit) throw new QueueError({ kind: 'too_big', what, bytes, limit })
}

/**
 * By the index alone, so that `main` is counted and taken off again. The state is part of the text:
 * SQLite would make its plan anew each time, as a value could decide for an index over some states.
 */
function selectCount(state: TaskState): string {
  return `select (select count(*) from task where run = ?1 and state = '${state}')
    - (select count(*) from task where run = ?1 and name = '${MAIN}' and outcome is null
      and state = '${state}') as count`
}

/** How many tasks are in a state. */
export function countOf(books: Books, run: string, state: TaskState): number {
  return books.db.get<{ count: number }>(selectCount(state), run)!.count
}
