import type { Outlook } from '../store.ts'
import type { Agent } from '../task.ts'
import { agentOf, type Books } from './rows.ts'

interface OutlookRow {
  readonly is_ready: number
  readonly is_running: number
  readonly told: number
  readonly next: number | null
  /** When the last pause began. */
  readonly latest: number | null
}

/** Each part by an index, and none of them goes through what may be thousands. */
function selectOf(whose: string, paused: string): string {
  return `select
    exists (select 1 from task where ${whose} and state = 'ready') as is_ready,
    exists (select 1 from task where ${whose} and state = 'running' and depth > 0) as is_running,
    (select count(*) from task where ${whose} and state = 'running' and cancelled is not null) as told,
    (select min(not_before) from task where ${paused} and state = 'ready' and not_before > 0
      and not_before > ?2) as next,
    (select max(paused_at) from task where ${paused} and state = 'ready' and not_before > 0) as latest`
}

const OF_RUN = selectOf('run = ?1', 'run = ?1')
// The plus keeps SQLite from going through all that the agent has started.
const OF_AGENT = selectOf('parent = ?3', 'run = ?1 and +parent = ?3')

export function outlook(books: Books, run: string, agent?: Agent): Outlook {
  const now = books.clock.now()
  const row =
    agent === undefined
      ? books.db.get<OutlookRow>(OF_RUN, run, now)
      : books.db.get<OutlookRow>(OF_AGENT, run, now, agentOf(books, run, agent).id)
  const { is_ready, is_running, told, next, latest } = row!
  // The clock went back: who comes for a task now puts it right.
  const isBack = next !== null && latest !== null && latest > now
  return {
    isReady: is_ready === 1,
    isRunning: is_running === 1,
    told,
    nextReadyInMs: next === null ? null : isBack ? 0 : next - now,
  }
}
