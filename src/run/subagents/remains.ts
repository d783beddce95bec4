import { existsSync } from 'node:fs'
import type { Expired, Remains } from '../../queue/store.ts'
import type { Task } from '../../queue/task.ts'
import { describeFollowUps } from './not-queued.ts'
import type { Pushers } from './pushers.ts'
import { teardownOf } from './task-teardown.ts'
import type { PoolContext } from './work-task.ts'
import { describeUnchecked } from '../worktrees/describe-worktree.ts'

/** Running tasks of all workers, except those in `but`. */
export async function runningIn(
  { store, plan: { run } }: PoolContext,
  but: readonly string[] = [],
): Promise<Task[]> {
  const briefs = await store.list(run, { states: ['running'] })
  const others = briefs.filter(({ id }) => !but.includes(id))
  const tasks = await Promise.all(others.map(({ id }) => store.task(run, id)))
  return tasks.filter((task) => task !== undefined)
}

/** For each task, in case its worker is gone: where its work is and which tasks follow. */
export async function remainsOf(
  tasks: readonly Task[],
  { ports, openWorktrees }: PoolContext,
  pushers: Pushers,
): Promise<Map<string, Remains>> {
  const left = new Map<string, Remains>()
  for (const task of tasks) {
    const { id, options } = task
    const isIsolated = options.isolation === 'worktree'
    const known = isIsolated ? ports.queue!.worktrees(id) : []
    const own = openWorktrees.of(id)
    const there = own === undefined ? known.filter(({ path }) => existsSync(path)) : [own]
    const follow = await teardownOf(task, false, pushers)
    left.set(id, { output: there.map(describeUnchecked).join('\n'), follow })
  }
  return left
}

/** Warns about follow-up tasks of lost tasks that could not be queued. */
export function warnNotQueued(expired: readonly Expired[], { ports }: PoolContext): void {
  for (const { task } of expired) {
    for (const text of describeFollowUps(task.name, task.end?.notQueued)) {
      ports.emit({ type: 'warning', text })
    }
  }
}
