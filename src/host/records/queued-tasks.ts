import { existsSync } from 'node:fs'
import { errorWithHint, UserError } from '../../base/errors.ts'
import type { EventOf } from '../../records/events/event.ts'
import { MAIN, stepAgentName, type TaskBrief } from '../../queue/task.ts'
import { readLeftInQueue } from '../../run/subagents/left-in-queue.ts'
import type { ShownTasks, ShownTask } from '../../views/show-tasks.ts'
import { openSqliteStoreToRead } from '../../queue/sqlite-store.ts'
import type { FrontEnd } from '../front-end.ts'
import { openStoreOf } from '../queue/store.ts'
import { hasStore, storePath } from '../queue/store-path.ts'
import { maskOf } from '../queue/masked.ts'
import { readEventsOf } from '../../records/journal/read-run.ts'
import { isOwnOrUnsigned } from './foreign.ts'
import type { QueuedBrief } from './describe-run.ts'

/** The tasks of a run and the rest of its queue; undefined if it never had any. */
export async function readQueuedTasks(
  {
    id: run,
    folder,
    unreadable,
    foreign,
  }: Pick<QueuedBrief, 'id' | 'folder' | 'unreadable' | 'foreign'>,
  env: FrontEnd['env'],
): Promise<ShownTasks | undefined> {
  if (unreadable !== undefined) return { tasks: [], problem: unreadable }
  if (!hasStore(folder)) return undefined
  if (!isOwnOrUnsigned({ foreign }))
    return { tasks: [], problem: 'not read, because it was not created here' }
  try {
    const isOwn = foreign === undefined
    const store = await (isOwn
      ? openStoreOf(folder, env)
      : openSqliteStoreToRead(storePath(folder)))
    try {
      const tasks = await store.list(run)
      if (tasks.length === 0) return undefined
      const queue = await readLeftInQueue(store, run)
      const shown = { tasks: briefs(tasks, folder), ...(queue === undefined ? {} : { queue }) }
      return (await maskOf({ run, record: folder }, env)).data(shown)
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

function briefs(tasks: readonly TaskBrief[], folder: string): ShownTask[] {
  const names = new Map(tasks.map(({ id, name }) => [id, name]))
  const ends = Map.groupBy(readEventsOf(folder, ['task_ended']), ({ id }) => id)
  // The end of a lost task does not name its agent.
  const agents = new Map(
    [...readEventsOf(folder, ['task_started'])].map(({ id, agent }) => [id, agent]),
  )
  return tasks.map((task) => {
    const { id, run, name, parent, state, attempt, options, end } = task
    const failure = end?.success === false ? { class: end.class, error: end.error } : {}
    return {
      name,
      id,
      parent: names.get(parent ?? '') ?? stepAgentName(run, parent) ?? MAIN,
      state: end === null ? state : end.success ? 'done' : 'failed',
      attempts: attempt,
      agent: agents.get(id) ?? options.agent,
      ...sumUp(ends.get(id) ?? []),
      ...failure,
      ...(end?.notQueued && { notQueued: end.notQueued.map((each) => each.name) }),
    }
  })
}

/** Time and usage of a task's attempts; empty if none has ended. */
function sumUp(ends: readonly EventOf<'task_ended'>[]) {
  if (ends.length === 0) return {}
  const billing = ends.findLast(({ usage }) => usage?.billing !== undefined)?.usage?.billing
  const costs = ends.flatMap(({ usage }) => usage?.costUsd ?? [])
  const worktrees = ends.flatMap(({ worktree }) =>
    worktree?.isKept === true && existsSync(worktree.path) ? [worktree.path] : [],
  )
  return {
    ms: ends.reduce((sum, { ms }) => sum + ms, 0),
    costUsd: costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0),
    ...(billing && { billing }),
    ...(worktrees.length > 0 && { worktrees }),
  }
}
