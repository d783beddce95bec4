import { errorWithHint, UserError } from '../../base/errors.ts'
import type { Plan } from '../../chain/plan/plan.ts'
import type { AttemptWorktree, QueuePort } from '../../run/ports.ts'
import { readEventsOf } from '../../records/journal/read-run.ts'
import { ownProgram } from '../own-folder.ts'
import { hasStore } from './store-path.ts'
import type { SubAgents } from './sub-agent.ts'

/** The queues of a run that this process runs. */
export function makeQueuePort(
  record: string | undefined,
  plan: Plan,
  env: Readonly<Record<string, string>>,
): QueuePort | undefined {
  if (record === undefined) return undefined
  let agents: SubAgents | undefined
  return {
    program: ownProgram(),
    hasStore: () => hasStore(record),
    open: async () => (await import('./store.ts')).openStoreOf(record, env, plan),
    verify: async () => (await import('./store.ts')).refuseUnsound(plan.run, record, env),
    reportedEnds: () => reportedEnds(record),
    worktrees: (id) => worktreesIn(record, id),
    async subAgent(task, parent, pusher) {
      agents ??= new (await import('./sub-agent.ts')).SubAgents(plan, env)
      return agents.find(task, parent, pusher).catch(withHintInMessage)
    },
  }
}

/** In the result of a task, error and hint are one text. */
function withHintInMessage(error: unknown): never {
  throw error instanceof UserError ? new UserError(errorWithHint(error)) : error
}

function reportedEnds(record: string): Set<string> {
  const ends = new Set<string>()
  for (const { id, attempt } of readEventsOf(record, ['task_ended'])) ends.add(`${id} ${attempt}`)
  return ends
}

function worktreesIn(record: string, task: string): AttemptWorktree[] {
  const found: AttemptWorktree[] = []
  for (const { id, attempt, worktree } of readEventsOf(record, ['task_started'])) {
    if (id === task && worktree !== undefined) found.push({ attempt, ...worktree })
  }
  return found
}
