import { existsSync } from 'node:fs'
import type { Expired, Left } from '../queue/store.ts'
import type { Task } from '../queue/task.ts'
import { afterTaskWords } from './not-queued.ts'
import type { Pushers } from './pushers.ts'
import { teardownOf } from './task-teardown.ts'
import type { CrewContext } from './work-task.ts'
import { unjudgedWords } from './worktree-words.ts'

/** The tasks at work, whoever works at them; but for these. */
export async function runningIn(
  { store, plan: { run } }: CrewContext,
  but: readonly string[] = [],
): Promise<Task[]> {
  const briefs = await store.list(run, { states: ['running'] })
  const others = briefs.filter(({ id }) => !but.includes(id))
  const tasks = await Promise.all(others.map(({ id }) => store.task(run, id)))
  return tasks.filter((task) => task !== undefined)
}

/** Should their workers be gone: where their work is, and what is to be queued then. */
export async function leftOf(
  tasks: readonly Task[],
  { ports, sites }: CrewContext,
  pushers: Pushers,
): Promise<Map<string, Left>> {
  const left = new Map<string, Left>()
  for (const task of tasks) {
    const { id, options } = task
    const isIsolated = options.isolation === 'worktree'
    const known = isIsolated ? ports.queue!.worktrees(id) : []
    const own = sites.siteOf(id)
    const there = own === undefined ? known.filter(({ path }) => existsSync(path)) : [own]
    const follow = await teardownOf(task, false, pushers)
    left.set(id, { output: there.map(unjudgedWords).join('\n'), follow })
  }
  return left
}

/** Tells what could not be queued after tasks that were lost. */
export function tellUnfollowed(expired: readonly Expired[], { ports }: CrewContext): void {
  for (const { task } of expired) {
    for (const text of afterTaskWords(task.name, task.end?.notQueued)) {
      ports.emit({ type: 'warning', text })
    }
  }
}
