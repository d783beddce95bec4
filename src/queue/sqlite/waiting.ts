import { findCycles, NOTHING, releaseStuck, type Need } from '../deadlock.ts'
import type { Agent } from '../task.ts'
import { addHistory } from './history.ts'
import {
  agentNamed,
  COLUMNS,
  countOf,
  liveAgent,
  livingAgent,
  parseColumn,
  stepAgents,
  type StoreContext,
  type TaskRow,
} from './rows.ts'
import { messageTo } from './status.ts'

/** The senders of a wait that any message can end. */
const ANYONE = '[]'

interface WaitRow {
  readonly agent: string
  readonly reader: string
  readonly senders: string
}

/** Writes only if the wait is new, has changed or expires soon. */
export function recordWait(
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
  if (waits.length === 0 || doOnlyStepsWait(context, run, waits)) return
  const agents = context.db.all<TaskRow>(
    `select ${COLUMNS} from task where run = ?1 and state = 'running'
     union select ${COLUMNS} from task where id in
     (select agent from waiting where run = ?1 and until > ?2)`,
    run,
    context.clock.now(),
  )
  const needs = makeNeeds(context, run, agents, waits)
  // They will end, and send the results that their ancestors wait for.
  const alone = releaseStuck(needs, waitingForAnyone(context, run, waits))
  const cycles = findCycles(needs)
  const names = new Map(agents.map(({ id, name }) => [id, name]))
  for (const { agent, reader, senders } of waits) {
    const cycle = alone.has(agent) && senders === ANYONE ? [] : cycles.get(agent)
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
 * Whether only the agents of steps wait, for tasks, while a task is running: they cannot be in a deadlock.
 * This is the usual case, and they may wait for thousands of tasks.
 */
function doOnlyStepsWait(context: StoreContext, run: string, waits: readonly WaitRow[]): boolean {
  const steps = stepAgents(context, run)
  const ids = new Set(steps.map(({ id }) => id))
  const isForTasks = ({ agent, senders }: WaitRow) =>
    ids.has(agent) && !steps.some(({ name }) => senders.includes(JSON.stringify(name)))
  return waits.every(isForTasks) && countOf(context, run, 'running') > 0
}

/** The agents that wait for anyone and have no running descendant. */
function waitingForAnyone({ db }: StoreContext, run: string, waits: readonly WaitRow[]): string[] {
  const rows = db.all<{ id: string }>(
    `with recursive ancestor (id) as (
       select parent from task where run = ? and state = 'running'
       union select parent from task join ancestor using (id)
     ) select id from ancestor where id is not null`,
    run,
  )
  const ancestors = new Set(rows.map(({ id }) => id))
  return waits.flatMap(({ agent, senders }) =>
    senders === ANYONE && !ancestors.has(agent) ? [agent] : [],
  )
}

/** A free slot of the run, as a node of the graph. */
const SLOT = 'a slot'

/** What agents, and ready tasks without a slot, need to continue. */
function makeNeeds(
  context: StoreContext,
  run: string,
  agents: readonly TaskRow[],
  waits: readonly WaitRow[],
): Map<string, Need> {
  const needs = new Map<string, Need>()
  const ready = addReady(context, run, agents, needs)
  /** Empty for an agent that neither runs nor is ready: it blocks no wait. */
  const nodeOf = (name: string): string[] => {
    const running = agents.find((agent) => agent.name === name)
    if (running !== undefined) return [running.id]
    const task = liveAgent(context, run, name)
    if (task?.state !== 'ready') return []
    return [task.is_drained === 1 ? readyId(task.parent!) : SLOT]
  }
  const needOf = ({ agent, senders }: WaitRow): Need => {
    const hasMessage = (from?: string) => messageTo(context, agent, from) !== undefined
    if (senders !== ANYONE) {
      const names = parseColumn<readonly string[]>(context, 'waiting.senders', senders)
      return [names.filter((name) => !hasMessage(name)).flatMap(nodeOf)]
    }
    const others = agents.filter(({ id }) => id !== agent).map(({ id }) => id)
    return hasMessage() ? NOTHING : anyOf([...others, ...ready])
  }
  for (const { id, cancelled } of agents) {
    const own = waits.filter(({ agent }) => agent === id)
    const isFree = own.length === 0 || cancelled !== null
    needs.set(id, isFree ? NOTHING : own.flatMap(needOf))
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
    holders.length < limit ? NOTHING : anyOf(holders.map(({ id }) => id))
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
    needs.set(readyId(parent), [[SLOT, widthId]])
  }
  const ready = drains.map(({ parent }) => readyId(parent))
  return started === undefined ? ready : [SLOT, ...ready]
}

function readyId(parent: string): string {
  return `ready of ${parent}`
}

function anyOf(ids: readonly string[]): Need {
  return ids.map((id) => [id])
}
