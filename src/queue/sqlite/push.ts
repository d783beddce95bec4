import { QueueError } from '../refusal.ts'
import type { Started } from '../store.ts'
import type { Agent, NewTask } from '../task.ts'
import { MAIN } from '../task.ts'
import { note, noteStarted } from './note.ts'
import type { Books, TaskRow } from './rows.ts'
import { beginningOf, countOf, isWhole, liveAgent, livingAgent, refuseBig } from './rows.ts'

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
    const { isKnown, isTaken } = look(books, task)
    if (isKnown) continue
    const parent = livingAgent(books, task.run, task.parent)
    refuseNew(books, task, parent, isTaken)
    insert(books, task, parent)
    grown.add(task.run)
  }
  for (const run of grown) refuseLong(books, run)
}

const LOOK = `select exists (select 1 from task where id = ?1) as known,
  exists (select 1 from task where run = ?2 and name = ?3 and outcome is null) as taken`

/** Whether it was pushed before, and whether another has its name. */
function look({ db }: Books, { id, run, name }: NewTask) {
  const row = db.get<{ known: number; taken: number }>(LOOK, id, run, name)!
  return { isKnown: row.known === 1, isTaken: row.taken === 1 }
}

function refuseNew(books: Books, task: NewTask, parent: TaskRow, isTaken: boolean): void {
  const depth = parent.depth + 1
  if (depth > books.limits.depth) {
    throw new QueueError({ kind: 'too_deep', depth, limit: books.limits.depth })
  }
  refuseBig(books, 'prompt', task.prompt)
  if (isTaken) throw new QueueError({ kind: 'name_taken', name: task.name })
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
  if (!isWhole(prompt)) books.db.run(INSERT_PROMPT, prompt)
  note(books, run, 'pushed', id, attemptOf(task), state)
}

/** The attempt that pushes, where its task is for no other. */
function attemptOf({ parent, isOfAll = false }: NewTask): number {
  return isOfAll || typeof parent === 'string' || !('attempt' in parent) ? 0 : parent.attempt
}

const QUEUED = `select id, name from task where run = ? and state = 'queued' and is_drained = 0
  and parent = ? order by seq limit ?`

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
    run,
    parent.id,
    count === undefined ? -1 : Math.max(0, count),
  )
  const free = Math.max(
    0,
    books.limits.running - countOf(books, run, 'running') - startedOf(books, run),
  )
  const fitting = wanted.slice(0, free)
  for (const task of fitting) makeReady(books, run, task)
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
  const wanted = books.db.all<Queued>(QUEUED, run, parent.id, -1)
  if (wanted.length > 0) makeAllReady(books, run, parent.id)
  books.db.run(
    `update task set drain_width = ?3 where id = ?2 and exists (select 1 from task
      where run = ?1 and state in ('ready', 'running') and is_drained = 1 and parent = ?2)`,
    run,
    parent.id,
    Math.max(1, Math.floor(width)),
  )
  return { started: wanted.map(({ name }) => name), held: 0 }
}

/** The same for all of a queue, which may be thousands. */
function makeAllReady(books: Books, run: string, parent: string): void {
  const now = books.clock.now()
  noteStarted(books, run, parent)
  books.db.run(
    `update task set state = 'ready', since = ?3, is_drained = 1
     where run = ?1 and state = 'queued' and is_drained = 0 and parent = ?2`,
    run,
    parent,
    now,
  )
}

function makeReady(books: Books, run: string, task: Queued): void {
  books.db.run(
    `update task set state = 'ready', since = ? where id = ?`,
    books.clock.now(),
    task.id,
  )
  note(books, run, 'started', task.id)
}
