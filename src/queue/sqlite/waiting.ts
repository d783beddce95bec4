import type { Need } from '../deadlock.ts'
import { findCycles, releaseStuck } from '../deadlock.ts'
import { MAIN, type Agent } from '../task.ts'
import { addHistory } from './history.ts'
import type { StoreContext, TaskRow } from './rows.ts'
import { agentNamed, COLUMNS, countOf, liveAgent, livingAgent, parseColumn } from './rows.ts'

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

/** Whether the wait is recorded and does not expire soon, so that nothing need be written. */
export function isWaiting(context: StoreContext, { run, agent, from, reader }: Wait): boolean {
  const { id } = livingAgent(context, run, agent)
  const row = context.db.get<{ until: number }>(
    'select until from waiting where agent = ? and reader = ? and senders = ?',
    id,
    reader,
    JSON.stringify(from),
  )
  return row !== undefined && row.until > context.clock.now() + context.times.waitLeaseMs / 2
}

export function waitFor(context: StoreContext, { run, agent, from, reader }: Wait): void {
  const { id } = livingAgent(context, run, agent)
  context.db.run(
    `insert into waiting (agent, reader, run, senders, until) values (?1, ?2, ?3, ?4, ?5)
     on conflict do update set until = ?5, senders = ?4,
     deadlock = iif(senders = ?4, deadlock, null)`,
    id,
    reader,
    run,
    JSON.stringify(from),
    context.clock.now() + context.times.waitLeaseMs,
  )
  markDeadlocks(context, run)
}

/** Also for one that has ended meanwhile. */
export function stopWaiting(
  context: StoreContext,
  run: string,
  agent: Agent,
  reader: string,
): void {
  const id = typeof agent === 'string' ? agentNamed(context, run, agent).id : agent.task
  context.db.run('delete from waiting where agent = ? and reader = ?', id, reader)
}

/**
 * Writes a circle of agents down at each of them, since the first that is told stops waiting, and the
 * others would see no circle any more; and an empty one at those for whom there is nothing to wait
 * for, because all others wait, too. To be called after all that leaves fewer who could send.
 */
export function markDeadlocks(context: StoreContext, run: string): void {
  const waits = context.db.all<WaitRow>(
    'select agent, reader, senders from waiting where run = ? and until > ?',
    run,
    context.clock.now(),
  )
  if (waits.length === 0 || isOnlyMain(context, run, waits)) return
  const agents = context.db.all<TaskRow>(
    `select ${COLUMNS} from task where run = ?1 and state = 'running'
     union select ${COLUMNS} from task where id in
     (select agent from waiting where run = ?1 and until > ?2)`,
    run,
    context.clock.now(),
  )
  const needs = new NeedGraph(context, run, agents, waits).all()
  // They end sooner or later, and their results are what those above them wait for.
  const alone = new Set(releaseStuck(needs, waitsOfTheDeepest(context, agents, waits)))
  const circles = findCycles(needs)
  const names = new Map(agents.map(({ id, name }) => [id, name]))
  for (const { agent, reader } of waits) {
    const id = waitId(agent, reader)
    const circle = alone.has(id) ? [] : circles.get(id)
    if (circle === undefined) continue
    const others = JSON.stringify(circle.flatMap((other) => names.get(other) ?? []).toSorted())
    const isNew = context.db.run(
      'update waiting set deadlock = ? where agent = ? and reader = ? and deadlock is null',
      others,
      agent,
      reader,
    )
    if (isNew > 0) addHistory(context, run, 'deadlock', agent, 0, others)
  }
}

/**
 * Whether nobody but `main` waits, for others, while somebody works: it holds no slot, so that nobody
 * who works needs it. That is how most wait, and for thousands.
 */
function isOnlyMain(context: StoreContext, run: string, waits: readonly WaitRow[]): boolean {
  const { id } = agentNamed(context, run, MAIN)
  const isForOthers = ({ agent, senders }: WaitRow) =>
    agent === id && !senders.includes(JSON.stringify(MAIN))
  return waits.every(isForOthers) && countOf(context, run, 'running') > 0
}

/** Waits for anyone, of agents without a running descendant. */
function waitsOfTheDeepest(
  { db }: StoreContext,
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
class NeedGraph {
  readonly #context: StoreContext
  readonly #run: string
  readonly #agents: readonly TaskRow[]
  readonly #waits: readonly WaitRow[]
  readonly #needs = new Map<string, Need>()

  constructor(
    context: StoreContext,
    run: string,
    agents: readonly TaskRow[],
    waits: readonly WaitRow[],
  ) {
    this.#context = context
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
    const names = parseColumn<readonly string[]>(this.#context, 'waiting.senders', senders)
    if (names.length > 0) {
      const open = names.filter((name) => !hasMessage(this.#context, agent, name))
      return { kind: 'all', of: open.flatMap((name) => this.#nodeOf(name)) }
    }
    if (hasMessage(this.#context, agent)) return { kind: 'nothing' }
    const others = this.#agents.map(({ id }) => id).filter((id) => id !== agent)
    return { kind: 'any', of: [...others, ...ready] }
  }

  /** Empty for an agent that neither runs nor is ready: it blocks no wait. */
  #nodeOf(name: string): string[] {
    const running = this.#agents.find((agent) => agent.name === name)
    if (running !== undefined) return [running.id]
    const task = liveAgent(this.#context, this.#run, name)
    if (task?.state !== 'ready') return []
    return [task.is_drained === 1 ? readyId(task.parent!) : SLOT]
  }

  /** One for all that need the same: there may be thousands. */
  #addReady(): string[] {
    const { db, limits } = this.#context
    const tasks = this.#agents.filter(({ depth, state }) => depth > 0 && state === 'running')
    const isFree = countOf(this.#context, this.#run, 'running') < limits.running
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

/** Whether there is a message, including one that a reader may return. */
function hasMessage({ db }: StoreContext, agent: string, from?: string): boolean {
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
