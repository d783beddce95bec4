import { mayRetry } from '../../queue/limits.ts'
import type { QueueStore } from '../../queue/store.ts'
import {
  agentName,
  STARTED_STATES,
  type Agent,
  type TaskClaim,
  type TaskHead,
} from '../../queue/task.ts'
import type { AttemptResult, PoolContext } from './pool-context.ts'

/** How long to wait for a change before checking again. */
const RECHECK_MS = 2000

export interface ChildServices {
  /** Whether every running task waits for tasks that have no free slot. */
  isStuck(): Promise<boolean>
  /** Settles when this process runs none of its children. */
  childrenOver(): Promise<void>
}

/** A task ends only after all tasks that it started. */
export async function waitForChildren(
  { task: { name, id: task } }: TaskClaim,
  stop: AbortSignal,
  pool: ChildServices,
  context: PoolContext,
): Promise<void> {
  const { store, plan } = context
  const own = { name, task }
  const isAnyLeft = async () => (await cancelChildren(store, plan.run, own)) > 0
  await waitWhile(stop, pool, context, isAnyLeft)
}

/**
 * Before a retry, stops what this attempt has started. Tasks that its prompt started also belong to the next
 * attempt, so they are awaited only if they work in this attempt's worktree.
 */
export async function stopChildren(
  claim: TaskClaim,
  stop: AbortSignal,
  pool: ChildServices,
  context: PoolContext,
): Promise<void> {
  const { store, plan, openWorktrees } = context
  const { name, id: task } = claim.task
  const query = { agent: { name, task }, states: STARTED_STATES }
  const mustEnd = ({ cancelled }: TaskHead) =>
    cancelled !== null || openWorktrees.of(task) !== undefined
  if ((await store.list(plan.run, query)).length === 0) return
  await store.abandon(claim)
  await waitWhile(stop, pool, context, async () =>
    (await store.list(plan.run, query)).some(mustEnd),
  )
}

/** Waits while there are children, unless every running task waits for a slot. */
async function waitWhile(
  stop: AbortSignal,
  pool: ChildServices,
  { store, plan: { run } }: PoolContext,
  isAnyLeft: () => Promise<boolean>,
): Promise<void> {
  while (!stop.aborted) {
    const mark = await store.mark()
    if (!(await isAnyLeft())) return
    if (await pool.isStuck()) return
    await store.wait(run, mark, AbortSignal.any([stop, AbortSignal.timeout(RECHECK_MS)]))
  }
  // The children are stopped as well, which may take a while.
  await pool.childrenOver()
}

export function willBeRetried(
  { end, later }: AttemptResult,
  { task, attempt }: TaskClaim,
): boolean {
  if (end.success) return false
  return later !== undefined || mayRetry(end.class, attempt, task.retry)
}

/**
 * Cancels the tasks that an agent pushed with `on_parent_end=cancel`, or all that it has started; returns
 * how many have not ended.
 */
export async function cancelChildren(
  store: QueueStore,
  run: string,
  parent: Agent,
  isForAll = false,
): Promise<number> {
  const open = await store.list(run, { agent: parent, states: STARTED_STATES })
  for (const { name, options, cancelled } of open) {
    if ((isForAll || options.onParentEnd === 'cancel') && cancelled === null) {
      await store.cancel(run, name, `its parent ${agentName(parent)} ended`)
    }
  }
  return open.length
}
