import { existsSync } from 'node:fs'
import type { EventBody } from '../events/event.ts'
import type { Worktree } from '../events/schema.ts'
import type { StepNode } from '../plan/plan.ts'
import type { Expired, Over } from '../queue/store.ts'
import type { EndBrief, Task } from '../queue/task.ts'
import type { Ports } from './ports.ts'
import { notQueuedIn } from './not-queued.ts'
import type { CrewContext } from './work-task.ts'

/** Tells of attempts whose worker is gone; `main` is the step in which they are told. */
export function tellLost(
  expired: readonly Expired[],
  { ports }: CrewContext,
  main: StepNode | undefined,
): void {
  for (const { task, settled } of expired) {
    const { attempt, end } = task
    const how = end?.success === false ? end.class : 'lost'
    const over = { attempt, how, isAgain: settled === 'retrying' } as const
    ports.emit(endedEvent(over, task, main, worktreeOf(task, attempt, ports)))
  }
}

/**
 * Tells of attempts that are over in the store and not in the events: the process that saw them end
 * was killed in between.
 */
export async function tellUntoldEnds(
  { store, plan, ports }: CrewContext,
  main: StepNode | undefined,
): Promise<void> {
  const over = await store.over(plan.run)
  if (over.length === 0) return
  const told = ports.queue?.endsTold() ?? new Set()
  const untold = over.filter(({ task, attempt }) => !told.has(`${task} ${attempt}`))
  if (untold.length === 0) return
  for (const end of untold) {
    const task = await store.task(plan.run, end.task)
    if (task === undefined) continue
    ports.emit(endedEvent(end, task, main, worktreeOf(task, end.attempt, ports)))
  }
}

interface Ended {
  readonly end: (EndBrief & { readonly cost?: number | undefined }) | null
}

/** What is known of it: the store keeps the words of the last attempt alone. */
function endedEvent(
  { attempt, how, isAgain }: Omit<Over, 'task'>,
  { id, name, attempt: last, end }: Pick<Task, 'id' | 'name' | 'attempt'> & Ended,
  main: StepNode | undefined,
  worktree: Worktree | undefined,
): EventBody {
  const { id: step = 's1', number = 1 } = main ?? {}
  const known = attempt === last ? end : null
  const words = how === 'lost' ? 'its worker is gone' : 'it failed before its process ended'
  const error = known?.success === false ? known.error : words
  const cost = known?.cost
  return {
    type: 'task_ended',
    scope: [step, `task:${name}`, `a${attempt}`],
    step: number,
    iteration: 1,
    attempt,
    task: name,
    id,
    ...(how === 'success' ? { success: true } : { success: false, class: how, error }),
    ...(isAgain ? { again: true } : {}),
    ms: 0,
    outputBytes: 0,
    ...(worktree === undefined ? {} : { worktree }),
    ...(cost === undefined ? {} : { usage: { costUsd: cost } }),
    ...notQueuedIn(known),
  }
}

/** Where such an attempt has worked, and whether that is still there. */
function worktreeOf(
  { id, options }: Pick<Task, 'id' | 'options'>,
  attempt: number,
  { queue }: Ports,
): Worktree | undefined {
  if (options.isolation !== 'worktree') return undefined
  const found = queue?.worktrees(id).findLast((each) => each.attempt === attempt)
  if (found === undefined) return undefined
  return { path: found.path, branch: found.branch, isKept: existsSync(found.path) }
}
