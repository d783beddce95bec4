import { UserError } from '../../base/errors.ts'
import { readPhases } from '../../chain/prompts/read-phases.ts'
import { toTask } from '../../queue/client.ts'
import type { FollowUp, Task } from '../../queue/task.ts'
import { pushesAfter } from '../chain/prompt-tasks.ts'
import type { Pushers } from './pushers.ts'

/** The tasks that the teardown of a task's prompt pushes. */
export async function teardownOf(
  task: Task,
  isSuccess: boolean,
  pushers: Pushers,
): Promise<readonly FollowUp[]> {
  if (!task.prompt.includes('/push')) return []
  try {
    if (await isRaw(task, pushers)) return []
    const phases = readPhases([task.prompt], `the prompt of task ${task.name}`)
    return pushesAfter(phases, isSuccess, `${task.id}.teardown`).map(toTask)
  } catch (error) {
    // A prompt with a mistake was refused as a whole.
    if (error instanceof UserError) return []
    throw error
  }
}

/** If the agent cannot be found, the setting of its parent decides. */
async function isRaw(task: Task, pushers: Pushers): Promise<boolean> {
  const parent = await pushers.of(task)
  const node = await pushers.nodeFor(task, parent).catch((error: unknown) => {
    if (error instanceof UserError) return parent.node
    throw error
  })
  return node?.rawPrompt === true
}
