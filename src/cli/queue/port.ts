import { watch } from 'node:fs'
import { errorWithHint, UserError } from '../../base/errors.ts'
import type { Plan } from '../../plan/plan.ts'
import type { AttemptWorktree, QueuePort } from '../../run/ports.ts'
import { readEventsOf } from '../records/ended-iterations.ts'
import { ownProgram } from '../../setup/own-folder.ts'
import { hasStore, openStore, STORE } from './store.ts'
import { SubAgents } from './sub-agent.ts'

/** Where nothing can be watched. */
const LOOK_MS = 500

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
    onceThere: (callback) => onceThere(record, isThere, callback),
    open: () => openStore(record, plan),
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

function onceThere(record: string, isThere: () => boolean, callback: () => void): () => void {
  let stop = () => undefined as void
  const look = () => {
    if (!isThere()) return
    stop()
    callback()
  }
  const lookNowAndThen = () => {
    const timer = setInterval(look, LOOK_MS)
    timer.unref()
    stop = () => clearInterval(timer)
  }
  try {
    const watcher = watch(record, { persistent: false }, (_, name) => {
      if (name === STORE) look()
    })
    stop = () => watcher.close()
    watcher.on('error', () => {
      watcher.close()
      lookNowAndThen()
    })
  } catch {
    lookNowAndThen()
  }
  look()
  return () => stop()
}
