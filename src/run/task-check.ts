import { stepAt } from '../events/state.ts'
import { UserError } from '../base/errors.ts'
import { TASK_NOT_DONE } from '../events/outcome-words.ts'
import { builtInVariables, type StepNode } from '../plan/plan.ts'
import type { TaskCounts } from '../plan/tasks.ts'
import {
  endOfTasks,
  picksTask,
  readyWords,
  workerTask,
  type TaskVerdict,
} from '../plan/task-verdict.ts'
import type { Values } from '../prompt/choose.ts'
import type { Context } from './context.ts'
import type { Ports } from './ports.ts'

/** Why the marker of an agent that works on tasks is not believed. */
export function whyNotDone(
  step: StepNode,
  iteration: number,
  { plan, ports }: Pick<Context, 'plan' | 'ports'>,
): { readonly why: 'tasks_ready' | 'task_open'; readonly detail: string } | undefined {
  const ready = stillReady(step, ports)
  if (ready !== undefined) return { why: 'tasks_ready', detail: ready }
  const lacks = workerLacks(step, builtInVariables(plan.run, step, iteration), ports)
  return lacks === undefined
    ? undefined
    : { why: 'task_open', detail: `${TASK_NOT_DONE}: ${lacks}` }
}

/** What is missing from the task of a worker: the one that it was given, or any that it took. */
function workerLacks(step: StepNode, values: Values, ports: Ports): string | undefined {
  const word = workerTask(step, values)
  if (word !== undefined) return lacksOf(word, ports)
  if (!picksTask(step)) return undefined
  const counts = countTasks(step, ports)
  const lacks = counts.finished.map((id) => lacksOf(id, ports))
  if (lacks.includes(undefined)) return undefined
  const end = endOfTasks(counts)
  if (end?.reason === 'until' && lacks.length === 0) return undefined
  return lacks[0] ?? end?.detail ?? 'no task was finished'
}

function lacksOf(word: string, { tasks }: Ports): string | undefined {
  try {
    return tasks.find(word).lacks
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return error.message
  }
}

/** In words: tasks are ready, and the agent builds from tasks. */
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
  step: StepNode,
  { tasks, state }: Ports,
): { readonly openTasks?: string[] } {
  const { agent, number } = step
  if (agent.finishesTasks !== true && !picksTask(step)) return {}
  const known = new Set(stepAt(state(), number).openTasks)
  const openTasks = tasks.open().filter((id) => !known.has(id))
  return openTasks.length === 0 ? {} : { openTasks }
}
