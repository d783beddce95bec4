import { existsSync } from 'node:fs'
import { errorWithHint, UserError } from '../../base/errors.ts'
import { addUsage, NOTHING_SPENT } from '../../records/events/spent.ts'
import { MAIN, type TaskBrief as QueuedTask } from '../../queue/task.ts'
import { leftInQueue } from '../../run/subagents/left-in-queue.ts'
import type { ShownTasks, TaskBrief } from '../../views/show-tasks.ts'
import { openSqliteStoreToRead } from '../../queue/sqlite-store.ts'
import { openStoreOf } from '../queue/store.ts'
import { hasStore, storePath } from '../queue/store-path.ts'
import { maskOf } from '../queue/masked.ts'
import { readEventsOf } from '../../records/journal/read-run.ts'
import { isFamiliar } from './foreign.ts'
import type { QueuedBrief } from './with-queue.ts'

/** The tasks of a run and what is left in its queue; undefined if it never had any. */
export async function readTasks({
  id: run,
  folder,
  unreadable,
  foreign,
}: Pick<QueuedBrief, 'id' | 'folder' | 'unreadable' | 'foreign'>): Promise<ShownTasks | undefined> {
  if (unreadable !== undefined) return { tasks: [], problem: unreadable }
  if (!hasStore(folder)) return undefined
  if (!isFamiliar({ foreign }))
    return { tasks: [], problem: 'not read, because it was not made here' }
  try {
    const isOwn = foreign === undefined
    const store = await (isOwn ? openStoreOf(folder) : openSqliteStoreToRead(storePath(folder)))
    try {
      const tasks = await store.list(run)
      if (tasks.length === 0) return undefined
      const queue = await leftInQueue(store, run)
      const shown = { tasks: briefs(tasks, folder), ...(queue === undefined ? {} : { queue }) }
      return (await maskOf({ run, record: folder })).data(shown)
    } finally {
      await store.close()
    }
  } catch (error) {
    // The rest of the run can still be shown.
    if (error instanceof UserError)
      return { tasks: [], problem: errorWithHint(error).replaceAll('\n', ' ') }
    throw error
  }
}

type Taken = Pick<TaskBrief, 'agent' | 'costUsd' | 'billing' | 'ms' | 'worktrees'>

function briefs(tasks: readonly QueuedTask[], folder: string): TaskBrief[] {
  const names = new Map(tasks.map(({ id, name }) => [id, name]))
  const taken = new Map<string, Taken>()
  for (const { id, agent, usage, ms, worktree } of readEventsOf(folder, ['task_ended'])) {
    const before = taken.get(id)
    const { billing } = before ?? {}
    const spent = { ...NOTHING_SPENT, costUsd: before?.costUsd ?? 0, ...(billing && { billing }) }
    const { costUsd: sum, billing: payer } = addUsage(spent, usage, false)
    const isKnown = usage?.costUsd !== undefined || typeof before?.costUsd === 'number'
    const costUsd = isKnown ? sum : null
    const about = { agent: agent ?? before?.agent, ms: (before?.ms ?? 0) + ms, costUsd }
    const isThere = worktree?.isKept === true && existsSync(worktree.path)
    const worktrees = [...(before?.worktrees ?? []), ...(isThere ? [worktree.path] : [])]
    const kept = worktrees.length === 0 ? {} : { worktrees }
    taken.set(id, { ...about, ...(payer && { billing: payer }), ...kept })
  }
  return tasks.map((task) => {
    const { id, name, parent, state, attempt, options, end } = task
    const failure = end?.success === false ? { class: end.class, error: end.error } : {}
    return {
      name,
      id,
      parent: names.get(parent ?? '') ?? MAIN,
      state: end === null ? state : end.success ? 'done' : 'failed',
      attempts: attempt,
      agent: options.agent,
      ...taken.get(id),
      ...failure,
      ...(end?.notQueued && { notQueued: end.notQueued.map((each) => each.name) }),
    }
  })
}
