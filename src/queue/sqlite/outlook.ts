import type { Outlook } from '../store.ts'
import type { Agent } from '../task.ts'
import { agentOf, type StoreContext } from './rows.ts'

interface OutlookRow {
  readonly is_ready: number
  readonly is_running: number
  readonly cancelling: number
  readonly next: number | null
  /** When the last pause began. */
  readonly latest: number | null
}

/**
 * Each part by an index, and none of them goes through what may be thousands. The sum with nothing
 * keeps SQLite from making its plan anew for each time: a value could say that the index will do.
 */
function selectOf(whose: string, paused: string): string {
  const from = 'from task indexed by task_by_state where run = ?1'
  return `select
    exists (select 1 ${from} and state = 'ready' ${whose}) as is_ready,
    exists (select 1 ${from} and state = 'running' ${whose} and depth > 0) as is_running,
    (select count(*) ${from} and state = 'running' ${whose} and cancelled is not null) as cancelling,
    (select min(not_before) from task where run = ?1 ${paused} and state = 'ready' and not_before > 0
      and not_before > ?2 + 0) as next,
    (select max(paused_at) from task where run = ?1 ${paused} and state = 'ready' and not_before > 0)
      as latest`
}

const OF_RUN = selectOf('', '')
// The plus keeps SQLite from going through all that the agent has started.
const OF_AGENT = selectOf('and is_drained in (0, 1) and parent = ?3', 'and +parent = ?3')

export function outlook(context: StoreContext, run: string, agent?: Agent): Outlook {
  const now = context.clock.now()
  const row =
    agent === undefined
      ? context.db.get<OutlookRow>(OF_RUN, run, now)
      : outlookOf(context, run, agent, now)
  const { is_ready, is_running, cancelling, next, latest } = row!
  // The clock went back: who comes for a task now puts it right.
  const isBack = next !== null && latest !== null && latest > now
  return {
    isReady: is_ready === 1,
    isRunning: is_running === 1,
    cancelling,
    nextReadyInMs: next === null ? null : isBack ? 0 : next - now,
  }
}

const NOTHING: OutlookRow = { is_ready: 0, is_running: 0, cancelling: 0, next: null, latest: null }

/** Asked at the end of every task, and most of them have pushed nothing. */
function outlookOf(context: StoreContext, run: string, agent: Agent, now: number): OutlookRow {
  if (typeof agent !== 'string' && hasNoChildren(context, run, agent)) return NOTHING
  return context.db.get<OutlookRow>(OF_AGENT, run, now, agentOf(context, run, agent).id)!
}

const WITHOUT_CHILDREN = `select 1 from task where id = ?1 and run = ?2 and name = ?3
  and not exists (select 1 from task where parent = ?1)`

function hasNoChildren({ db }: StoreContext, run: string, agent: Exclude<Agent, string>): boolean {
  if ('attempt' in agent) return false
  return db.get(WITHOUT_CHILDREN, agent.task, run, agent.name) !== undefined
}
