import type { StepNode } from '../plan/plan.ts'
import type { Tasks } from '../plan/tasks.ts'

/** Whether a step is done when the tasks are, and not when its agent says so. */
export function finishesTasks({ agent }: StepNode): boolean {
  return agent.engine !== 'binary' && agent.finishesTasks === true
}

/** Whether an agent that finishes tasks still has something to do. */
export function hasReadyTasks(step: StepNode, tasks: Tasks): boolean {
  return finishesTasks(step) && tasks.count().ready > 0
}

/** What keeps the work of such an agent from being done although nothing is ready, in words. */
export function leftUndone(step: StepNode, tasks: Tasks): string | undefined {
  if (!finishesTasks(step)) return undefined
  const { blocked, waiting, stuck, held, broken } = tasks.count()
  // What others are at, and what waits for that, is theirs to finish.
  const isOthers = held > 0 && blocked + stuck + broken === 0
  if (isOthers || blocked + waiting + stuck + broken === 0) return undefined
  const words = [
    `${blocked} blocked`,
    `${waiting} waiting`,
    ...(stuck === 0 ? [] : [`${stuck} in progress that nobody is at`]),
    ...(broken === 0 ? [] : [`${broken} that cannot be read`]),
  ]
  return `tasks left: ${words.join(', ')}`
}
