import type { Need } from '../deadlock.ts'
import { findCircles, letGo } from '../deadlock.ts'
import { MAIN, type Agent } from '../task.ts'
import { note } from './note.ts'
import type { Books, TaskRow } from './rows.ts'
import { agentNamed, COLUMNS, countOf, liveAgent, livingAgent } from './rows.ts'

interface WaitRow {
  readonly agent: string
  readonly reader: string
  readonly senders: string
}

export interface Wait {
  readonly run: string
  readonly agent: Agent
  readonly from: readonly string[]
  readonly reader: string
}

/** Whether it was said before and holds for a good while, so that nothing need be written. */
export function isWaiting(books: Books, { run, agent, from, reader }: Wait): boolean {
  const { id } = livingAgent(books, run, agent)
  const row = books.db.get<{ until: number }>(
    'select until from waiting where agent = ? and reader = ? and senders = ?',
    id,
    reader,
    JSON.stringify(from),
  )
  return row !== undefined && row.until > books.clock.now() + books.times.waitLeaseMs / 2
}

export function waitFor(books: Books, { run, agent, from, reader }: Wait): void {
  const { id } = livingAgent(books, run, agent)
  books.db.run(
    `insert into waiting (agent, reader, run, senders, until) values (?1, ?2, ?3, ?4, ?5)
     on conflict do update set until = ?5, senders = ?4,
     deadlock = iif(senders = ?4, deadlock, null)`,
    id,
    reader,
    run,
    JSON.stringify(from),
    books.clock.now() + books.times.waitLeaseMs,
  )
  markDeadlocks(books, run)
}

/** Also for one that has ended meanwhile. */
export function stopWaiting(books: Books, run: string, agent: Agent, reader: string): void {
  const id = typeof agent === 'string' ? agentNamed(books, run, agent).id : agent.task
  books.db.run('delete from waiting where agent = ? and reader = ?', id, reader)
}

/**
 * Writes a circle of agents down at each of them, since the first that is told stops waiting, and the
 * others would see no circle any more; and an empty one at those for whom there is nothing to wait
 * for, because all others wait, too. To be called after all that leaves fewer who could send.
 */
export function markDeadlocks(books: Books, run: string): void {
  const waits = books.db.all<WaitRow>(
    'select agent, reader, senders from waiting where run = ? and until > ?',
    run,
    books.clock.now(),
  )
  if (waits.length === 0 || isOnlyMain(books, run, waits)) return
  const agents = books.db.all<TaskRow>(
    `select ${COLUMNS} from task where run = ?1 and state = 'running'
     union select ${COLUMNS} from task where id in
     (select agent from waiting where run = ?1 and until > ?2)`,
    run,
    books.clock.now(),
  )
  const needs = new NeedsOf(books, run, agents, waits).all()
  // They end sooner or later, and their results are what those above them wait for.
  const alone = new Set(letGo(needs, waitsOfTheDeepest(books, agents, waits)))
  const circles = findCircles(needs)
  const names = new Map(agents.map(({ id, name }) => [id, name]))
  for (const { agent, reader } of waits) {
    const id = waitId(agent, reader)
    const circle = alone.has(id) ? [] : circles.get(id)
    if (circle === undefined) continue
    const others = JSON.stringify(circle.flatMap((other) => names.get(other) ?? []).toSorted())
    const isNew = books.db.run(
      'update waiting set deadlock = ? where agent = ? and reader = ? and deadlock is null',
      others,
      agent,
      reader,
    )
    if (isNew > 0) note(books, run, 'deadlock', agent, 0, others)
  }
}

/**
 * Whether nobody but `main` waits, for others, while somebody works: it holds no slot, so that nobody
 * who works needs it. That is how most wait, and for thousands.
 */
function isOnlyMain(books: Books, run: string, waits: readonly WaitRow[]): boolean {
  const { id } = agentNamed(books, run, MAIN)
  const isForOthers = ({ agent, senders }: WaitRow) =>
    agent === id && !senders.includes(JSON.stringify(MAIN))
  return waits.every(isForOthers) && countOf(books, run, 'running') > 0
}

/** Waits for anybody, of agents below whom nobody is at work. */
function waitsOfTheDeepest(
  { db }: Books,
  agents: readonly TaskRow[],
  waits: readonly WaitRow[],
): string[] {
  const above = new Set<string>()
  for (const { state, parent } of agents) {
    let id = state === 'running' ? parent : null
    while (id !== null && !above.has(id)) {
      above.add(id)
      id =
        db.get<Pick<TaskRow, 'parent'>>('select parent from task where id = ?', id)?.parent ?? null
    }
  }
  return waits.flatMap(({ agent, reader, senders }) =>
    senders === '[]' && !above.has(agent) ? [waitId(agent, reader)] : [],
  )
}

function waitId(agent: string, reader: string): string {
  return `wait ${agent} ${reader}`
}

const SLOT = 'a slot'

/** Who needs whom: agents, their waits, and the slots for which ready tasks queue. */
class NeedsOf {
  readonly #books: Books
  readonly #run: string
  readonly #agents: readonly TaskRow[]
  readonly #waits: readonly WaitRow[]
  readonly #needs = new Map<string, Need>()

  constructor(books: Books, run: string, agents: readonly TaskRow[], waits: readonly WaitRow[]) {
    this.#books = books
    this.#run = run
    this.#agents = agents
    this.#waits = waits
  }

  all(): Map<string, Need> {
    const ready = this.#addReady()
    for (const { id, cancelled } of this.#agents) {
      const waits = this.#waits.filter(({ agent }) => agent === id)
      const of = waits.map(({ agent, reader }) => waitId(agent, reader))
      const isFree = waits.length === 0 || cancelled !== null
      this.#needs.set(id, isFree ? { kind: 'nothing' } : { kind: 'any', of })
    }
    for (const wait of this.#waits) {
      this.#needs.set(waitId(wait.agent, wait.reader), this.#needOf(wait, ready))
    }
    return this.#needs
  }

  #needOf({ agent, senders }: WaitRow, ready: readonly string[]): Need {
    const names = JSON.parse(senders) as readonly string[]
    if (names.length > 0) {
      const open = names.filter((name) => !hasMessage(this.#books, agent, name))
      return { kind: 'all', of: open.flatMap((name) => this.#nodeOf(name)) }
    }
    if (hasMessage(this.#books, agent)) return { kind: 'nothing' }
    const others = this.#agents.map(({ id }) => id).filter((id) => id !== agent)
    return { kind: 'any', of: [...others, ...ready] }
  }

  /** None for who does not run and is not about to: nobody waits for those. */
  #nodeOf(name: string): string[] {
    const running = this.#agents.find((agent) => agent.name === name)
    if (running !== undefined) return [running.id]
    const task = liveAgent(this.#books, this.#run, name)
    if (task?.state !== 'ready') return []
    return [task.is_drained === 1 ? readyId(task.parent!) : SLOT]
  }

  /** One for all that need the same: there may be thousands. */
  #addReady(): string[] {
    const { db, limits } = this.#books
    const tasks = this.#agents.filter(({ depth, state }) => depth > 0 && state === 'running')
    const isFree = countOf(this.#books, this.#run, 'running') < limits.running
    this.#needs.set(SLOT, isFree ? { kind: 'nothing' } : { kind: 'any', of: idsOf(tasks) })
    const started = db.get(
      `select 1 from task where run = ? and state = 'ready' and is_drained = 0 limit 1`,
      this.#run,
    )
    // By those who have queues, of which there are few.
    const drains = db.all<{ parent: string; width: number }>(
      `select id as parent, drain_width as width from task as agent where run = ?
       and drain_width is not null and exists (select 1 from task
         where run = agent.run and state = 'ready' and is_drained = 1 and parent = agent.id)`,
      this.#run,
    )
    const ready = drains.map(({ parent, width }) => {
      const siblings = tasks.filter((task) => task.parent === parent && task.is_drained === 1)
      const widthId = `the width of ${parent}`
      const hasRoom = siblings.length < width
      this.#needs.set(widthId, hasRoom ? { kind: 'nothing' } : { kind: 'any', of: idsOf(siblings) })
      this.#needs.set(readyId(parent), { kind: 'all', of: [SLOT, widthId] })
      return readyId(parent)
    })
    return started === undefined ? ready : [SLOT, ...ready]
  }
}

function readyId(parent: string): string {
  return `ready of ${parent}`
}

function idsOf(tasks: readonly TaskRow[]): string[] {
  return tasks.map(({ id }) => id)
}

/** Whether a message is there, also one that a reader has in hand and may give back. */
function hasMessage({ db }: Books, agent: string, from?: string): boolean {
  const found =
    from === undefined
      ? db.get('select 1 from message where recipient = ? limit 1', agent)
      : db.get(
          'select 1 from message where recipient = ? and sender = ? and addressee is null limit 1',
          agent,
          from,
        )
  return found !== undefined
}
