import { stepAt } from '../events/state.ts'
import type { StepNode } from '../plan/plan.ts'
import type { TaskCounts } from '../plan/tasks.ts'
import { endOfTasks, readyWords, type TaskVerdict } from '../plan/task-verdict.ts'
import type { Ports } from './ports.ts'

/** Why the marker of an agent that builds from tasks is not believed, in words. */
export function stillReady(step: StepNode, ports: Ports): string | undefined {
  if (step.agent.finishesTasks !== true) return undefined
  const { ready } = countTasks(step, ports)
  return ready === 0 ? undefined : readyWords(ready)
}

/** How a step ends whose agent builds from tasks; undefined: there is work, or the agent alone can know. */
export function taskEnd(step: StepNode, ports: Ports): TaskVerdict | undefined {
  return step.agent.finishesTasks === true ? endOfTasks(countTasks(step, ports)) : undefined
}

/** The tasks as they are now, and what became of those that were open before. */
export function countTasks({ number }: StepNode, { tasks, state }: Ports): TaskCounts {
  const { openTasks: inRun = [] } = state()
  const { openTasks: inStep = [] } = stepAt(state(), number)
  return tasks.count({ inRun, inStep })
}

/** For an event: open tasks that no event of the step has named so far. */
export function newlyOpen(
  { agent, number }: StepNode,
  { tasks, state }: Ports,
): { readonly openTasks?: string[] } {
  if (agent.finishesTasks !== true) return {}
  const known = new Set(stepAt(state(), number).openTasks)
  const openTasks = tasks.open().filter((id) => !known.has(id))
  return openTasks.length === 0 ? {} : { openTasks }
}
