import { existsSync } from 'node:fs'
import type { Worktree } from '../../records/events/schema.ts'
import { deadHolders } from '../../queue/client.ts'
import type { Expired, FinishedAttempt, Remains } from '../../queue/store.ts'
import type {
  TaskClaim,
  TaskEnd,
  TaskEndBrief,
  QueuedTask,
  TaskBrief,
  TaskHead,
} from '../../queue/task.ts'
import { placeOf } from '../place.ts'
import type { Ports } from '../ports.ts'
import { describeUnchecked } from '../worktrees/worktree.ts'
import { describeNotQueued, notQueuedIn, type Stopped } from './task-end.ts'
import type { PoolContext } from './pool-context.ts'

/** An attempt that runs in this process. */
interface RunningAttempt {
  readonly claim: TaskClaim
  stop(stopped: Stopped): void
}

/** Renews the claims of all running attempts, and stops those that were cancelled or lost. */
export async function sendHeartbeats(
  attempts: readonly RunningAttempt[],
  { store }: PoolContext,
): Promise<void> {
  const sendOne = async (attempt: RunningAttempt) => {
    const answer = await store.heartbeat(attempt.claim)
    if (answer.isOurs) return
    attempt.stop(
      answer.reason === 'cancelled'
        ? { class: 'cancelled', error: answer.why }
        : { class: 'lost', error: 'another worker has it' },
    )
  }
  // In parallel, so that the store can write them in one transaction.
  await Promise.all(attempts.map(sendOne))
}

/** Sends heartbeats, then fails and reports the tasks whose worker is gone. */
export async function checkWorkers(
  attempts: readonly RunningAttempt[],
  context: PoolContext,
): Promise<void> {
  // Heartbeats first: the machine may have slept for longer than a claim lasts.
  await sendHeartbeats(attempts, context)
  const own = attempts.map(({ claim }) => claim.task)
  for (const { task, settled } of await expireLost(own, context)) {
    // Attempts that still run here report their own end and cost.
    if (own.some(({ id }) => id === task.id)) continue
    const { attempt, end } = task
    const how = end?.success === false ? end.class : 'lost'
    await emitEnd({ attempt, how, willRetry: settled === 'retrying' }, task, context)
  }
}

/** Fails tasks whose worker is gone; `own` are the tasks of this worker. */
export async function expireLost(
  own: readonly QueuedTask[],
  context: PoolContext,
): Promise<readonly Expired[]> {
  const { store, plan, pushers } = context
  const running = await store.list(plan.run, { states: ['running'] })
  const others = running.filter(({ id }) => !own.some((task) => task.id === id))
  const found = await Promise.all(others.map(({ id }) => store.task(plan.run, id)))
  const left = new Map<string, Remains>()
  for (const task of [...own, ...found]) {
    if (task === undefined) continue
    const follow = await pushers.followUps(task, false)
    left.set(task.id, { output: describeWork(task, context), follow })
  }
  const expired = await store.expire(plan.run, await deadHolders(store, plan.run), left)
  for (const { task } of expired) warnNotQueued(task, context)
  return expired
}

/** Where a task's work is, in case its worker is gone. */
function describeWork({ id, options }: QueuedTask, { ports, openWorktrees }: PoolContext): string {
  const open = openWorktrees.of(id)
  if (open !== undefined) return describeUnchecked(open)
  const known = options.isolation === 'worktree' ? ports.queue!.worktrees(id) : []
  const there = known.filter(({ path }) => existsSync(path))
  return there.map(describeUnchecked).join('\n')
}

/** Warns about follow-up tasks that could not be queued; only the store knows which. */
export function warnNotQueued(
  { name, end }: Pick<TaskBrief, 'name' | 'end'>,
  { ports }: PoolContext,
): void {
  for (const each of end?.notQueued ?? []) {
    ports.emit({ type: 'warning', text: `after task ${name}: ${describeNotQueued(each)}` })
  }
}

/**
 * Reports attempts that ended in the store but not in the events, because the process was killed in between.
 */
export async function reportEnds(context: PoolContext): Promise<void> {
  const { store, plan, ports } = context
  const reported = ports.queue!.reportedEnds()
  for (const end of await store.finishedAttempts(plan.run)) {
    if (reported.has(`${end.task} ${end.attempt}`)) continue
    const task = await store.task(plan.run, end.task)
    if (task !== undefined) await emitEnd(end, task, context)
  }
}

/** The store keeps details of the last attempt only. */
async function emitEnd(
  { attempt, how, willRetry }: Omit<FinishedAttempt, 'task'>,
  task: TaskHead & { readonly end: (TaskEndBrief & Pick<TaskEnd, 'cost'>) | null },
  { ports, pushers }: PoolContext,
): Promise<void> {
  const place = placeOf(await pushers.stepOf(task), 1)
  const known = attempt === task.attempt ? task.end : null
  const unknown =
    how === 'lost' ? 'its worker is gone' : 'the attempt failed, and its details were not saved'
  const error = known?.success === false ? known.error : unknown
  const costUsd = known?.cost
  const worktree = worktreeOf(task, attempt, ports)
  ports.emit({
    type: 'task_ended',
    ...place,
    scope: [...place.scope, `task:${task.name}`, `a${attempt}`],
    iteration: 1,
    attempt,
    task: task.name,
    id: task.id,
    ...(how === 'success' ? { success: true } : { success: false, class: how, error }),
    ...(willRetry ? { again: true } : {}),
    ms: 0,
    outputBytes: 0,
    ...(worktree === undefined ? {} : { worktree }),
    ...(costUsd === undefined ? {} : { usage: { costUsd } }),
    ...notQueuedIn(known),
  })
}

function worktreeOf(
  { id, options }: TaskHead,
  attempt: number,
  { queue }: Ports,
): Worktree | undefined {
  if (options.isolation !== 'worktree') return undefined
  const found = queue!.worktrees(id).findLast((each) => each.attempt === attempt)
  if (found === undefined) return undefined
  return { path: found.path, branch: found.branch, isKept: existsSync(found.path) }
}
