import { errorText, UserError } from '../base/errors.ts'
import { isRetried } from '../queue/limits.ts'
import { QueueError } from '../queue/refusal.ts'
import { MAIN, type Agent, type Claim, type End } from '../queue/task.ts'
import { cancelChildren } from './cancel-children.ts'
import { hasTeardown, tearDown, type Phases } from './prompt-tasks.ts'
import { isPassing } from './store-trouble.ts'
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

/** Whether a task comes again after this attempt. */
export function isTriedAgain({ end, later }: Worked, { task, attempt }: Claim): boolean {
  if (end.success) return false
  return later !== undefined || isRetried(end.class, attempt, task.retry)
}

/** Queues what a prompt wants after its agent, for the parent: its own queue ends with it. */
export async function tearDownTask(
  { id, name, parent: above, depth }: Claim['task'],
  phases: Phases,
  end: End,
  parent: string,
  { store, plan, ports }: CrewContext,
): Promise<void> {
  if (!hasTeardown(phases, end.success)) return
  const into = (agent: Agent) =>
    tearDown(phases, end.success, `${id}.teardown`, { store, run: plan.run, agent })
  try {
    const owner = above === null || depth <= 1 ? MAIN : { name: parent, task: above }
    await into(owner).catch((error: unknown) => {
      const isGone = error instanceof QueueError && error.refusal.kind === 'agent_ended'
      if (!isGone || error.refusal.name !== parent) throw error
      return into(MAIN)
    })
  } catch (error) {
    if (!(error instanceof UserError) || isPassing(error)) throw error
    ports.emit({ type: 'warning', text: `after task ${name}: ${errorText(error)}` })
  }
}
