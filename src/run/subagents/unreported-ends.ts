import { existsSync } from 'node:fs'
import type { EventBody } from '../../records/events/event.ts'
import type { Worktree } from '../../records/events/schema.ts'
import type { StepNode } from '../../chain/plan/plan.ts'
import type { Expired, FinishedAttempt } from '../../queue/store.ts'
import type { EndBrief, Task } from '../../queue/task.ts'
import type { Ports } from '../chain/ports.ts'
import { notQueuedIn } from './not-queued.ts'
import type { PoolContext } from './work-task.ts'

/** Reports attempts whose worker is gone; `main` is the step that the events belong to. */
export function reportLost(
  expired: readonly Expired[],
  { ports }: PoolContext,
  main: StepNode | undefined,
): void {
  for (const { task, settled } of expired) {
    const { attempt, end } = task
    const how = end?.success === false ? end.class : 'lost'
    const over = { attempt, how, willRetry: settled === 'retrying' } as const
    ports.emit(endedEvent(over, task, main, worktreeOf(task, attempt, ports)))
  }
}

/**
 * Reports attempts that have ended in the store but not in the events, because the process was killed
 * in between.
 */
export async function reportEnds(
  { store, plan, ports }: PoolContext,
  main: StepNode | undefined,
): Promise<void> {
  const over = await store.finishedAttempts(plan.run)
  if (over.length === 0) return
  const reported = ports.queue?.reportedEnds() ?? new Set()
  for (const end of over) {
    if (reported.has(`${end.task} ${end.attempt}`)) continue
    const task = await store.task(plan.run, end.task)
    if (task === undefined) continue
    ports.emit(endedEvent(end, task, main, worktreeOf(task, end.attempt, ports)))
  }
}

interface Ended {
  readonly end: (EndBrief & { readonly cost?: number | undefined }) | null
}

/** The store keeps details of the last attempt only. */
function endedEvent(
  { attempt, how, willRetry }: Omit<FinishedAttempt, 'task'>,
  { id, name, attempt: last, end }: Pick<Task, 'id' | 'name' | 'attempt'> & Ended,
  main: StepNode | undefined,
  worktree: Worktree | undefined,
): EventBody {
  const { id: step = 's1', number = 1 } = main ?? {}
  const known = attempt === last ? end : null
  const words =
    how === 'lost' ? 'its worker is gone' : 'the attempt failed, and its details were not saved'
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
    ...(willRetry ? { again: true } : {}),
    ms: 0,
    outputBytes: 0,
    ...(worktree === undefined ? {} : { worktree }),
    ...(cost === undefined ? {} : { usage: { costUsd: cost } }),
    ...notQueuedIn(known),
  }
}

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
