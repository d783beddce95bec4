import { errorWithHint, UserError } from '../../base/errors.ts'
import type { Plan } from '../../plan/plan.ts'
import type { AttemptWorktree, QueuePort } from '../../run/ports.ts'
import { readEventsOf } from '../records/ended-iterations.ts'
import { ownProgram } from '../../setup/own-folder.ts'
import { hasStore, openStoreOf } from './store.ts'
import { SubAgents } from './sub-agent.ts'

/** So soon a queue is seen that an agent has made by itself. */
const LOOK_MS = 100

/** The queues of a run that this process carries out. */
export function makeQueuePort(
  record: string | undefined,
  plan: Plan,
  env: Readonly<Record<string, string>>,
): QueuePort | undefined {
  if (record === undefined) return undefined
  const isThere = () => hasStore(record)
  let agents: SubAgents | undefined
  return {
    program: ownProgram(),
    isThere,
    onceThere: (callback) => onceThere(isThere, callback),
    open: () => openStoreOf(record, plan),
    endsTold: () => endsTold(record),
    worktrees: (id) => worktreesIn(record, id),
    subAgent: (task, parent, pusher) => {
      agents ??= new SubAgents(plan, env)
      return agents.find(task, parent, pusher).catch(tellWhole)
    },
  }
}

/** Whoever queued the task is told in one text. */
function tellWhole(error: unknown): never {
  throw error instanceof UserError ? new UserError(errorWithHint(error)) : error
}

function endsTold(record: string): Set<string> {
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

function onceThere(isThere: () => boolean, callback: () => void): () => void {
  const look = () => {
    if (!isThere()) return
    clearInterval(timer)
    callback()
  }
  // To watch the folder would wake a thread at every event that is written there.
  const timer = setInterval(look, LOOK_MS)
  timer.unref()
  look()
  return () => clearInterval(timer)
}
