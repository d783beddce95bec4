import type { StepNode } from '../plan/plan.ts'
import type { Tasks } from '../plan/tasks.ts'
import { endOfTasks, readyWords, type TaskVerdict } from '../plan/task-verdict.ts'

/** Why the marker of an agent that builds from tasks is not believed, in words. */
export function stillReady({ agent }: StepNode, tasks: Tasks): string | undefined {
  if (agent.finishesTasks !== true) return undefined
  const { ready } = tasks.count()
  return ready === 0 ? undefined : readyWords(ready)
}

/** How a step ends whose agent builds from tasks; undefined: there is work, or the agent alone can know. */
export function taskEnd({ agent }: StepNode, tasks: Tasks): TaskVerdict | undefined {
  return agent.finishesTasks === true ? endOfTasks(tasks.count()) : undefined
}
