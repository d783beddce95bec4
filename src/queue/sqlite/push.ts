import { QueueError } from '../refusal.ts'
import type { Started } from '../store.ts'
import type { Agent, NewTask } from '../task.ts'
import { MAIN } from '../task.ts'
import { addHistory, addStartedToHistory } from './history.ts'
import type { StoreContext, TaskRow } from './rows.ts'
import {
  beginningOf,
  countOf,
  isWhole,
  liveAgent,
  livingAgent,
  parseColumn,
  checkSize,
} from './rows.ts'

const INSERT = `insert into task
  (id, run, parent, name, beginning, options, retry, depth, state, at, since, is_drained)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const INSERT_PROMPT = 'insert into prompt (task, text) values (last_insert_rowid(), ?)'

export function openRun(context: StoreContext, run: string): void {
  if (liveAgent(context, run, MAIN) !== undefined) return
  const now = context.clock.now()
  context.db.run(INSERT, `${run}.${MAIN}`, run, null, MAIN, '', '{}', 0, 0, 'running', now, now, 0)
  addHistory(context, run, 'main', `${run}.${MAIN}`, 0, 'running')
}

export function push(context: StoreContext, tasks: readonly NewTask[]): void {
  const grown = new Set<string>()
  for (const task of tasks) {
    const { isKnown, isTaken } = findExisting(context, task)
    if (isKnown) continue
    const parent = livingAgent(context, task.run, task.parent)
    checkNew(context, task, parent, isTaken)
    insert(context, task, parent)
    grown.add(task.run)
  }
  for (const run of grown) checkQueueLength(context, run)
}

const FIND_EXISTING = `select exists (select 1 from task where id = ?1) as known,
  exists (select 1 from task where run = ?2 and name = ?3 and outcome is null) as taken`

/** Whether it was pushed before, and whether another has its name. */
function findExisting({ db }: StoreContext, { id, run, name }: NewTask) {
  const row = db.get<{ known: number; taken: number }>(FIND_EXISTING, id, run, name)!
  return { isKnown: row.known === 1, isTaken: row.taken === 1 }
}

function checkNew(context: StoreContext, task: NewTask, parent: TaskRow, isTaken: boolean): void {
  const depth = parent.depth + 1
  if (depth > context.limits.depth) {
    throw new QueueError({ kind: 'too_deep', depth, limit: context.limits.depth })
  }
  checkSize(context, 'prompt', task.prompt)
  if (context.isSecret?.(task.name) === true) throw new QueueError({ kind: 'secret_name' })
  if (isTaken) throw new QueueError({ kind: 'name_taken', name: task.name })
}

/** Asked once all are in: the transaction takes them out again. */
function checkQueueLength(context: StoreContext, run: string): void {
  const waiting = countOf(context, run, 'queued') + countOf(context, run, 'ready')
  const limit = context.limits.queued
  if (waiting > limit) throw new QueueError({ kind: 'queue_full', waiting, limit })
}

function insert(context: StoreContext, task: NewTask, parent: TaskRow): void {
  const { id, run, name, prompt, options = {}, retry = 0 } = task
  const isDrained = parent.drain_width !== null
  const state = isDrained ? 'ready' : 'queued'
  const now = context.clock.now()
  const values = [
    id,
    run,
    parent.id,
    name,
    beginningOf(prompt),
    JSON.stringify(options),
    retry,
  ] as const
  context.db.run(INSERT, ...values, parent.depth + 1, state, now, now, Number(isDrained))
  if (!isWhole(prompt)) context.db.run(INSERT_PROMPT, prompt)
  addHistory(context, run, 'pushed', id, attemptOf(task), state)
}

/** The attempt that pushes, where its task is for no other. */
function attemptOf({ parent, isForAllAttempts = false }: NewTask): number {
  return isForAllAttempts || typeof parent === 'string' || !('attempt' in parent)
    ? 0
    : parent.attempt
}

const QUEUED = `select id, name from task where run = ? and state = 'queued' and is_drained = 0
  and parent = ? order by seq limit ?`

type Queued = Pick<TaskRow, 'id' | 'name'>

/** What was asked for under an id that is known is not done again. */
export function once(
  context: StoreContext,
  run: string,
  id: string | undefined,
  work: () => Started,
): Started {
  if (id === undefined) return work()
  const { db } = context
  const known = db.get<{ answer: string }>('select answer from answer where id = ?', id)
  if (known !== undefined) return parseColumn<Started>(context, 'answer.answer', known.answer)
  const started = work()
  const values = [id, run, JSON.stringify(started)] as const
  db.run('insert into answer (id, run, answer) values (?, ?, ?)', ...values)
  return started
}

export function start(context: StoreContext, run: string, agent: Agent, count?: number): Started {
  const parent = livingAgent(context, run, agent)
  const wanted = context.db.all<Queued>(
    QUEUED,
    run,
    parent.id,
    count === undefined ? -1 : Math.max(0, count),
  )
  const free = Math.max(
    0,
    context.limits.running - countOf(context, run, 'running') - startedOf(context, run),
  )
  const fitting = wanted.slice(0, free)
  for (const task of fitting) makeReady(context, run, task)
  return { started: fitting.map(({ name }) => name), held: wanted.length - fitting.length }
}

/** Those that have a slot coming to them; what is drained waits for one however long it takes. */
function startedOf({ db }: StoreContext, run: string): number {
  return db.get<{ count: number }>(
    `select count(*) as count from task where run = ? and state = 'ready' and is_drained = 0`,
    run,
  )!.count
}

export function drain(context: StoreContext, run: string, agent: Agent, width: number): Started {
  const parent = livingAgent(context, run, agent)
  const wanted = context.db.all<Queued>(QUEUED, run, parent.id, -1)
  if (wanted.length > 0) makeAllReady(context, run, parent.id)
  context.db.run(
    `update task set drain_width = ?3 where id = ?2 and exists (select 1 from task
      where run = ?1 and state in ('ready', 'running') and is_drained = 1 and parent = ?2)`,
    run,
    parent.id,
    Math.max(1, Math.floor(width)),
  )
  return { started: wanted.map(({ name }) => name), held: 0 }
}

/** The same for all of a queue, which may be thousands. */
function makeAllReady(context: StoreContext, run: string, parent: string): void {
  const now = context.clock.now()
  addStartedToHistory(context, run, parent)
  context.db.run(
    `update task set state = 'ready', since = ?3, is_drained = 1
     where run = ?1 and state = 'queued' and is_drained = 0 and parent = ?2`,
    run,
    parent,
    now,
  )
}

function makeReady(context: StoreContext, run: string, task: Queued): void {
  context.db.run(
    `update task set state = 'ready', since = ? where id = ?`,
    context.clock.now(),
    task.id,
  )
  addHistory(context, run, 'started', task.id)
}
