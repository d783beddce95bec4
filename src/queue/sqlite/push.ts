import { QueueError } from '../refusal.ts'
import type { Started } from '../store.ts'
import type { Agent, NewTask } from '../task.ts'
import { MAIN } from '../task.ts'
import { note } from './note.ts'
import type { Books, TaskRow } from './rows.ts'
import { beginningOf, countOf, liveAgent, livingAgent, refuseBig, taskById } from './rows.ts'

const INSERT = `insert into task
  (id, run, parent, name, beginning, options, retry, depth, state, at, since, is_drained)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const INSERT_PROMPT = 'insert into prompt (task, text) values (last_insert_rowid(), ?)'

export function openRun(books: Books, run: string): void {
  if (liveAgent(books, run, MAIN) !== undefined) return
  const now = books.clock.now()
  books.db.run(INSERT, `${run}.${MAIN}`, run, null, MAIN, '', '{}', 0, 0, 'running', now, now, 0)
  note(books, run, 'main', `${run}.${MAIN}`, 0, 'running')
}

export function push(books: Books, tasks: readonly NewTask[]): void {
  const grown = new Set<string>()
  for (const task of tasks) {
    if (taskById(books, task.id) !== undefined) continue
    const parent = livingAgent(books, task.run, task.parent)
    refuseNew(books, task, parent)
    insert(books, task, parent)
    grown.add(task.run)
  }
  for (const run of grown) refuseLong(books, run)
}

function refuseNew(books: Books, task: NewTask, parent: TaskRow): void {
  const depth = parent.depth + 1
  if (depth > books.limits.depth) {
    throw new QueueError({ kind: 'too_deep', depth, limit: books.limits.depth })
  }
  refuseBig(books, 'prompt', task.prompt)
  if (liveAgent(books, task.run, task.name) !== undefined) {
    throw new QueueError({ kind: 'name_taken', name: task.name })
  }
}

/** Asked once all are in: the transaction takes them out again. */
function refuseLong(books: Books, run: string): void {
  const waiting = countOf(books, run, 'queued') + countOf(books, run, 'ready')
  const limit = books.limits.queued
  if (waiting > limit) throw new QueueError({ kind: 'queue_full', waiting, limit })
}

function insert(books: Books, task: NewTask, parent: TaskRow): void {
  const { id, run, name, prompt, options = {}, retry = 0 } = task
  const isDrained = parent.drain_width !== null
  const state = isDrained ? 'ready' : 'queued'
  const now = books.clock.now()
  const values = [
    id,
    run,
    parent.id,
    name,
    beginningOf(prompt),
    JSON.stringify(options),
    retry,
  ] as const
  books.db.run(INSERT, ...values, parent.depth + 1, state, now, now, Number(isDrained))
  books.db.run(INSERT_PROMPT, prompt)
  note(books, run, 'pushed', id, attemptOf(task), state)
}

/** The attempt that pushes, where its task is for no other. */
function attemptOf({ parent, isOfAll = false }: NewTask): number {
  return isOfAll || typeof parent === 'string' || !('attempt' in parent) ? 0 : parent.attempt
}

const QUEUED = `select id, name from task where parent = ? and state = 'queued'
  order by seq limit ?`

type Queued = Pick<TaskRow, 'id' | 'name'>

/** What was asked for under an id that is known is not done again. */
export function once(
  { db }: Books,
  run: string,
  id: string | undefined,
  work: () => Started,
): Started {
  if (id === undefined) return work()
  const known = db.get<{ answer: string }>('select answer from answer where id = ?', id)
  if (known !== undefined) return JSON.parse(known.answer) as Started
  const started = work()
  const values = [id, run, JSON.stringify(started)] as const
  db.run('insert into answer (id, run, answer) values (?, ?, ?)', ...values)
  return started
}

export function start(books: Books, run: string, agent: Agent, count?: number): Started {
  const parent = livingAgent(books, run, agent)
  const wanted = books.db.all<Queued>(
    QUEUED,
    parent.id,
    count === undefined ? -1 : Math.max(0, count),
  )
  const free = Math.max(
    0,
    books.limits.running - countOf(books, run, 'running') - startedOf(books, run),
  )
  const fitting = wanted.slice(0, free)
  for (const task of fitting) makeReady(books, run, task, false)
  return { started: fitting.map(({ name }) => name), held: wanted.length - fitting.length }
}

/** Those that have a slot coming to them; what is drained waits for one however long it takes. */
function startedOf({ db }: Books, run: string): number {
  return db.get<{ count: number }>(
    `select count(*) as count from task where run = ? and state = 'ready' and is_drained = 0`,
    run,
  )!.count
}

export function drain(books: Books, run: string, agent: Agent, width: number): Started {
  const parent = livingAgent(books, run, agent)
  const wanted = books.db.all<Queued>(QUEUED, parent.id, -1)
  for (const task of wanted) makeReady(books, run, task, true)
  books.db.run(
    `update task set drain_width = ? where id = ?
     and exists (select 1 from task where parent = ? and is_drained = 1 and state in ('ready', 'running'))`,
    Math.max(1, Math.floor(width)),
    parent.id,
    parent.id,
  )
  return { started: wanted.map(({ name }) => name), held: 0 }
}

function makeReady(books: Books, run: string, task: Queued, isDrained: boolean): void {
  books.db.run(
    `update task set state = 'ready', since = ?, is_drained = ? where id = ?`,
    books.clock.now(),
    Number(isDrained),
    task.id,
  )
  note(books, run, 'started', task.id)
}
