import { isRetried } from '../queue/limits.ts'
import type { Claim, TaskHead } from '../queue/task.ts'
import { cancelChildren } from './cancel-children.ts'
import type { CrewContext, Worked } from './work-task.ts'

/** Others may be waited for so long before one looks around. */
const LOOK_MS = 2000

interface Mates {
  /** Whether all that are at work wait for tasks that cannot begin because of that. */
  isStuck(): Promise<boolean>
  /** Settles when none of its children is worked at here. */
  childrenOver(): Promise<void>
}

/** What a task has started ends before it does, so that its result is the last word. */
export async function waitForChildren(
  { task: { name, id: task } }: Claim,
  stop: AbortSignal,
  crew: Mates,
  { store, plan: { run }, sites }: CrewContext,
): Promise<void> {
  const own = { name, task }
  let looked = -LOOK_MS
  const isAnyLeft = async () => {
    const { isReady, isRunning } = await store.outlook(run, own)
    return isReady || isRunning
  }
  // Most have none.
  if (!(await isAnyLeft())) return
  while (!stop.aborted) {
    const mark = await store.mark()
    if (!(await isAnyLeft())) return
    // They may be thousands, and one of them ends every moment.
    if (performance.now() - looked >= LOOK_MS) {
      await cancelChildren(store, run, own)
      looked = performance.now()
    }
    if (await crew.isStuck()) return sites.letGo()
    await store.wait(run, mark, AbortSignal.any([stop, AbortSignal.timeout(LOOK_MS)]))
  }
  // They are told to end as well, and may need a while for it.
  await crew.childrenOver()
}

/**
 * Before a task is tried again: what this attempt has started is stopped. What its prompt has started
 * is for the next one, too, and is waited for only where it works in the worktree of this one.
 */
export async function stopChildren(
  claim: Claim,
  stop: AbortSignal,
  crew: Mates,
  { store, plan: { run }, sites }: CrewContext,
): Promise<void> {
  const { name, id: task } = claim.task
  const query = { agent: { name, task }, states: ['ready', 'running'] } as const
  const isInTheWay = ({ cancelled }: TaskHead) =>
    cancelled !== null || sites.siteOf(task) !== undefined
  // Most have none.
  if ((await store.list(run, query)).length === 0) return
  await store.abandon(claim)
  while (!stop.aborted) {
    const mark = await store.mark()
    if (!(await store.list(run, query)).some(isInTheWay)) return
    if (await crew.isStuck()) return sites.letGo()
    await store.wait(run, mark, AbortSignal.any([stop, AbortSignal.timeout(LOOK_MS)]))
  }
  await crew.childrenOver()
}

/** Whether a task comes again after this attempt. */
export function isTriedAgain({ end, later }: Worked, { task, attempt }: Claim): boolean {
  if (end.success) return false
  return later !== undefined || isRetried(end.class, attempt, task.retry)
}
