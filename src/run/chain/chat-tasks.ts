import { UserError } from '../../base/errors.ts'
import type { StepNode } from '../../chain/plan/plan.ts'
import { readPhases, taskPlace } from '../../chain/prompts/read-phases.ts'
import { MAIN } from '../../queue/task.ts'
import type { QueuePort } from './ports.ts'
import type { Phases } from './prompt-tasks.ts'

type Push = Phases['teardown'][number]

/** Which agent queues a task, and the place of the command in messages. */
interface Pushing {
  readonly where: string
  readonly name: string
  readonly pusher: StepNode
}

/** Refuses tasks whose agent does not exist, nested ones included, before any takes effect. */
export function refuseTasks(phases: Phases, step: StepNode, queue: QueuePort): Promise<void> {
  return refuseAll(phases, { where: 'the prompt', name: MAIN, pusher: step }, queue)
}

async function refuseAll(
  { setup, teardown }: Phases,
  pushing: Pushing,
  queue: QueuePort,
): Promise<void> {
  for (const command of [...setup, ...teardown]) {
    if (command.kind !== 'push') continue
    const where = taskPlace(command, pushing.where)
    const pusher = await find(command, pushing, where, queue)
    const own = { where, name: command.name ?? 'task', pusher }
    await refuseAll(readPhases([command.prompt], where), own, queue)
  }
}

async function find(
  { name = 'task', agent, model }: Push,
  pushing: Pushing,
  where: string,
  queue: QueuePort,
): Promise<StepNode> {
  try {
    return await queue.subAgent({ name, options: { agent, model } }, pushing.name, pushing.pusher)
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    throw new UserError(`${where}  ${error.message}`, error.hint)
  }
}
