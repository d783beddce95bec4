import { findCycles, NOTHING, releaseStuck, type Need } from '../deadlock.ts'
import { MAIN, type Agent } from '../task.ts'
import { addHistory } from './history.ts'
import {
  agentNamed,
  COLUMNS,
  countOf,
  liveAgent,
  livingAgent,
  parseColumn,
  type StoreContext,
  type TaskRow,
} from './rows.ts'

interface WaitRow {
  readonly agent: string
  readonly reader: string
  readonly senders: string
}

/** Writes only if the wait is new, has changed or expires soon. */
export function waitFor(
  context: StoreContext,
  run: string,
  agent: Agent,
  from: readonly string[],
  reader: string,
): void {
  const { waitLeaseMs } = context.times
  const until = context.clock.now() + waitLeaseMs
  const changed = context.db.run(
    `insert into waiting (agent, reader, run, senders, until) values (?1, ?2, ?3, ?4, ?5)
     on conflict do update set until = ?5, senders = ?4,
       deadlock = iif(senders = ?4, deadlock, null)
     where senders <> ?4 or until <= ?6`,
    livingAgent(context, run, agent).id,
    reader,
    run,
    JSON.stringify(from),
    until,
    until - waitLeaseMs / 2,
  )
  if (changed > 0) markDeadlocks(context, run)
}

/** Also for an agent that has ended. */
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
 * Records a deadlock at each of its waits, because the first agent that learns of it stops waiting and
 * breaks the cycle. An empty list means that there is nothing to wait for, because all others wait as well.
 * To be called after each change that leaves fewer agents that could send.
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
  const needs = makeNeeds(context, run, agents, waits)
  // They will end, and send the results that their ancestors wait for.
  const alone = new Set(releaseStuck(needs, waitsOfTheDeepest(context, agents, waits)))
  const cycles = findCycles(needs)
  const names = new Map(agents.map(({ id, name }) => [id, name]))
  for (const { agent, reader } of waits) {
    const id = waitId(agent, reader)
    const cycle = alone.has(id) ? [] : cycles.get(id)
    if (cycle === undefined) continue
    const others = JSON.stringify(cycle.flatMap((other) => names.get(other) ?? []).toSorted())
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
 * Whether only `main` waits, for others, while a task is running: it cannot be in a deadlock. This is the
 * usual case, and `main` may wait for thousands of tasks.
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

/** A free slot of the run, as a node of the graph. */
const SLOT = 'a slot'

/** What agents, their waits, and ready tasks without a slot need to continue. */
function makeNeeds(
  context: StoreContext,
  run: string,
  agents: readonly TaskRow[],
  waits: readonly WaitRow[],
): Map<string, Need> {
  const needs = new Map<string, Need>()
  const ready = addReady(context, run, agents, needs)
  for (const { id, cancelled } of agents) {
    const of = waits.flatMap(({ agent, reader }) => (agent === id ? [waitId(agent, reader)] : []))
    const isFree = of.length === 0 || cancelled !== null
    needs.set(id, isFree ? NOTHING : { kind: 'any', of })
  }
  /** Empty for an agent that neither runs nor is ready: it blocks no wait. */
  const nodeOf = (name: string): string[] => {
    const running = agents.find((agent) => agent.name === name)
    if (running !== undefined) return [running.id]
    const task = liveAgent(context, run, name)
    if (task?.state !== 'ready') return []
    return [task.is_drained === 1 ? readyId(task.parent!) : SLOT]
  }
  for (const { agent, reader, senders } of waits) {
    const names = parseColumn<readonly string[]>(context, 'waiting.senders', senders)
    const open = names.filter((name) => !hasMessage(context, agent, name))
    const others = idsOf(agents).filter((id) => id !== agent)
    const ofAnyone: Need = hasMessage(context, agent)
      ? NOTHING
      : { kind: 'any', of: [...others, ...ready] }
    const need: Need = names.length === 0 ? ofAnyone : { kind: 'all', of: open.flatMap(nodeOf) }
    needs.set(waitId(agent, reader), need)
  }
  return needs
}

/** Adds one node for all ready tasks that need the same, because there may be thousands; returns these nodes. */
function addReady(
  { db, limits }: StoreContext,
  run: string,
  agents: readonly TaskRow[],
  needs: Map<string, Need>,
): string[] {
  const tasks = agents.filter(({ depth, state }) => depth > 0 && state === 'running')
  const needFrom = (holders: readonly TaskRow[], limit: number): Need =>
    holders.length < limit ? NOTHING : { kind: 'any', of: idsOf(holders) }
  needs.set(SLOT, needFrom(tasks, limits.running))
  const started = db.get(
    `select 1 from task where run = ? and state = 'ready' and is_drained = 0 limit 1`,
    run,
  )
  const drains = db.all<{ parent: string; width: number }>(
    `select id as parent, drain_width as width from task as agent where run = ?
     and drain_width is not null and exists (select 1 from task
       where run = agent.run and state = 'ready' and is_drained = 1 and parent = agent.id)`,
    run,
  )
  for (const { parent, width } of drains) {
    const siblings = tasks.filter((task) => task.parent === parent && task.is_drained === 1)
    const widthId = `the width of ${parent}`
    needs.set(widthId, needFrom(siblings, width))
    needs.set(readyId(parent), { kind: 'all', of: [SLOT, widthId] })
  }
  const ready = drains.map(({ parent }) => readyId(parent))
  return started === undefined ? ready : [SLOT, ...ready]
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
