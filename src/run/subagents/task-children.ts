import { mayRetry } from '../../queue/limits.ts'
import type { QueueStore } from '../../queue/store.ts'
import { nameOf, type Agent, type Claim, type TaskHead } from '../../queue/task.ts'
import type { PoolContext, AttemptResult } from './work-task.ts'

/** How long to wait for a change before checking again. */
const LOOK_MS = 2000

interface PoolServices {
  /** Whether every running task waits for tasks that cannot start for lack of a slot. */
  isStuck(): Promise<boolean>
  /** Settles when this process runs none of its children. */
  childrenOver(): Promise<void>
}

/** A task ends after all tasks that it has started. */
export async function waitForChildren(
  { task: { name, id: task } }: Claim,
  stop: AbortSignal,
  pool: PoolServices,
  { store, plan: { run }, openWorktrees }: PoolContext,
): Promise<void> {
  const own = { name, task }
  let looked = -LOOK_MS
  const isAnyLeft = async () => {
    const { isReady, isRunning } = await store.outlook(run, own)
    return isReady || isRunning
  }
  // Most tasks have no children.
  if (!(await isAnyLeft())) return
  while (!stop.aborted) {
    const mark = await store.mark()
    if (!(await isAnyLeft())) return
    // Not on every change: there may be thousands of children.
    if (performance.now() - looked >= LOOK_MS) {
      await cancelChildren(store, run, own)
      looked = performance.now()
    }
    if (await pool.isStuck()) return openWorktrees.noteEarlyEnd()
    await store.wait(run, mark, AbortSignal.any([stop, AbortSignal.timeout(LOOK_MS)]))
  }
  // The children are stopped as well, which may take a while.
  await pool.childrenOver()
}

/**
 * Before a retry, stops what this attempt has started. Tasks that its prompt has started belong to the
 * next attempt too, and are waited for only if they work in this attempt's worktree.
 */
export async function stopChildren(
  claim: Claim,
  stop: AbortSignal,
  pool: PoolServices,
  { store, plan: { run }, openWorktrees }: PoolContext,
): Promise<void> {
  const { name, id: task } = claim.task
  const query = { agent: { name, task }, states: ['ready', 'running'] } as const
  const isInTheWay = ({ cancelled }: TaskHead) =>
    cancelled !== null || openWorktrees.of(task) !== undefined
  // Most tasks have no children.
  if ((await store.list(run, query)).length === 0) return
  await store.abandon(claim)
  while (!stop.aborted) {
    const mark = await store.mark()
    if (!(await store.list(run, query)).some(isInTheWay)) return
    if (await pool.isStuck()) return openWorktrees.noteEarlyEnd()
    await store.wait(run, mark, AbortSignal.any([stop, AbortSignal.timeout(LOOK_MS)]))
  }
  await pool.childrenOver()
}

export function willBeRetried({ end, later }: AttemptResult, { task, attempt }: Claim): boolean {
  if (end.success) return false
  return later !== undefined || mayRetry(end.class, attempt, task.retry)
}

/** Cancels the tasks that an agent pushed with `on_parent_end=cancel`. */
export async function cancelChildren(store: QueueStore, run: string, parent: Agent): Promise<void> {
  const open = await store.list(run, { agent: parent, states: ['ready', 'running'] })
  for (const { name, options, cancelled } of open) {
    if (options.onParentEnd === 'cancel' && cancelled === null) {
      await store.cancel(run, name, `its parent ${nameOf(parent)} ended`)
    }
  }
}
