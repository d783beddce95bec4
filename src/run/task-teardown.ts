import { UserError } from '../base/errors.ts'
import { readPhases } from '../prompt/read-phases.ts'
import { asTask } from '../queue/desk.ts'
import type { FollowUp, Task } from '../queue/task.ts'
import { pushesAfter } from './prompt-tasks.ts'
import type { Pushers } from './pushers.ts'

/** What the prompt of a task wants to be queued once the task has ended so. */
export async function teardownOf(
  task: Task,
  isSuccess: boolean,
  pushers: Pushers,
): Promise<readonly FollowUp[]> {
  // Most want nothing.
  if (!task.prompt.includes('/push')) return []
  try {
    if (await isRaw(task, pushers)) return []
    const phases = readPhases([task.prompt], `the prompt of task ${task.name}`)
    return pushesAfter(phases, isSuccess, `${task.id}.teardown`).map(asTask)
  } catch (error) {
    // Of a prompt with a mistake in it nothing happens.
    if (error instanceof UserError) return []
    throw error
  }
}

/** Whether nothing in its prompt is a command; of an agent that is not there, its parent decides. */
async function isRaw(task: Task, pushers: Pushers): Promise<boolean> {
  const parent = await pushers.of(task)
  const node = await pushers.nodeFor(task, parent).catch((error: unknown) => {
    if (error instanceof UserError) return parent.node
    throw error
  })
  return node?.rawPrompt === true
}
