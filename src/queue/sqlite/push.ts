import { QueueError } from '../refusal.ts'
import type { Started } from '../store.ts'
import { MAIN, stepAgentId, type Agent, type NewQueuedTask } from '../task.ts'
import { addHistory } from './history.ts'
import {
  firstCharacters,
  checkSize,
  countOf,
  isWholePrompt,
  liveAgent,
  livingAgent,
  parseColumn,
  stepAgents,
  taskById,
  type StoreContext,
  type TaskRow,
} from './rows.ts'

const INSERT = `insert into task
  (id, run, parent, name, beginning, options, retry, depth, state, at, since, is_drained)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const INSERT_PROMPT = 'insert into prompt (task, text) values (last_insert_rowid(), ?)'

export function openRun(
  context: StoreContext,
  run: string,
  inBranches: readonly string[] = [],
): void {
  const known = new Set(stepAgents(context, run).map(({ name }) => name))
  const now = context.clock.now()
  for (const name of [MAIN, ...inBranches]) {
    if (known.has(name)) continue
    const id = stepAgentId(run, name)
    context.db.run(INSERT, id, run, null, name, '', '{}', 0, 0, 'running', now, now, 0)
    addHistory(context, run, 'main', id, 0, 'running')
  }
}

export function push(context: StoreContext, tasks: readonly NewQueuedTask[]): void {
  const grown = new Set<string>()
  for (const task of tasks) {
    if (taskById(context, task.id) !== undefined) continue
    const parent = livingAgent(context, task.run, task.parent)
    checkNew(context, task, parent)
    insert(context, task, parent)
    grown.add(task.run)
  }
  for (const run of grown) checkQueueLength(context, run)
}

function checkNew(context: StoreContext, task: NewQueuedTask, parent: TaskRow): void {
  const depth = parent.depth + 1
  if (depth > context.limits.depth) {
    throw new QueueError({ kind: 'too_deep', depth, limit: context.limits.depth })
  }
  checkSize(context, 'prompt', task.prompt)
  if (context.isSecret?.(task.name) === true) throw new QueueError({ kind: 'secret_name' })
  const { name } = task
  const holder = liveAgent(context, task.run, name)
  if (holder === undefined) return
  throw new QueueError({ kind: holder.depth === 0 ? 'name_of_agent' : 'name_taken', name })
}

/** After the insertions, which are rolled back if this throws. */
function checkQueueLength(context: StoreContext, run: string): void {
  const waiting = countOf(context, run, 'queued') + countOf(context, run, 'ready')
  const limit = context.limits.queued
  if (waiting > limit) throw new QueueError({ kind: 'queue_full', waiting, limit })
}

function insert(context: StoreContext, task: NewQueuedTask, parent: TaskRow): void {
  const { id, run, name, prompt, options = {}, retry = 0 } = task
  const isDrained = parent.drain_width !== null
  const state = isDrained ? 'ready' : 'queued'
  const now = context.clock.now()
  const [beginning, json] = [firstCharacters(prompt), JSON.stringify(options)]
  const values = [id, run, parent.id, name, beginning, json, retry, parent.depth + 1] as const
  context.db.run(INSERT, ...values, state, now, now, Number(isDrained))
  if (!isWholePrompt(prompt)) context.db.run(INSERT_PROMPT, prompt)
  addHistory(context, run, 'pushed', id, attemptOf(task), state)
}

/** The attempt that the task belongs to; 0 if it belongs to all attempts of its parent. */
function attemptOf({ parent, isForAllAttempts = false }: NewQueuedTask): number {
  return isForAllAttempts || typeof parent === 'string' || !('attempt' in parent)
    ? 0
    : parent.attempt
}

const QUEUED = `select id, name from task where run = ? and state = 'queued' and is_drained = 0
  and parent = ? order by seq limit ?`

type Queued = Pick<TaskRow, 'id' | 'name'>

/** Returns the earlier answer if this id was used before. */
function once(
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

export function start(
  context: StoreContext,
  run: string,
  agent: Agent,
  count?: number,
  id?: string,
): Started {
  return once(context, run, id, () => {
    const parent = livingAgent(context, run, agent)
    const limit = count === undefined ? -1 : Math.max(0, count)
    const wanted = context.db.all<Queued>(QUEUED, run, parent.id, limit)
    const used = countOf(context, run, 'running') + countStarted(context, run)
    const fitting = wanted.slice(0, Math.max(0, context.limits.running - used))
    for (const task of fitting) makeReady(context, run, task, false)
    return { started: fitting.map(({ name }) => name), held: wanted.length - fitting.length }
  })
}

/** Ready tasks with a reserved slot; drained ones wait for a free slot. */
function countStarted({ db }: StoreContext, run: string): number {
  return db.get<{ count: number }>(
    `select count(*) as count from task where run = ? and state = 'ready' and is_drained = 0`,
    run,
  )!.count
}

export function drain(
  context: StoreContext,
  run: string,
  agent: Agent,
  width: number,
  id?: string,
): Started {
  return once(context, run, id, () => {
    const parent = livingAgent(context, run, agent)
    const wanted = context.db.all<Queued>(QUEUED, run, parent.id, -1)
    for (const task of wanted) makeReady(context, run, task, true)
    context.db.run(
      `update task set drain_width = ?3 where id = ?2 and exists (select 1 from task
        where run = ?1 and state in ('ready', 'running') and is_drained = 1 and parent = ?2)`,
      run,
      parent.id,
      Math.max(1, Math.floor(width)),
    )
    return { started: wanted.map(({ name }) => name), held: 0 }
  })
}

function makeReady(context: StoreContext, run: string, { id }: Queued, isDrained: boolean): void {
  context.db.run(
    `update task set state = 'ready', since = ?, is_drained = ? where id = ?`,
    context.clock.now(),
    Number(isDrained),
    id,
  )
  addHistory(context, run, 'started', id)
}
