import { stepAt } from '../../records/events/state.ts'
import { UserError } from '../../base/errors.ts'
import { builtInVariables, type StepNode } from '../../chain/plan/plan.ts'
import type { TaskCounts } from '../../chain/plan/tasks.ts'
import {
  endOfTasks,
  isInBranches,
  picksTask,
  describeReady,
  workerTask,
  type TaskVerdict,
} from '../../chain/plan/task-verdict.ts'
import type { Values } from '../../chain/prompts/choose.ts'
import type { Context } from '../context.ts'
import type { Ports } from '../ports.ts'

/** Why the marker of an agent that works on tasks is refused. */
export async function whyNotDone(
  step: StepNode,
  iteration: number,
  { plan, ports }: Context,
): Promise<{ readonly why: 'tasks_ready' | 'task_open'; readonly detail: string } | undefined> {
  const ready = await stillReady(step, ports)
  if (ready !== undefined) return { why: 'tasks_ready', detail: ready }
  const missing = await missingOfWorker(step, builtInVariables(plan, step, iteration), ports)
  return missing === undefined
    ? undefined
    : { why: 'task_open', detail: `the task is not done: ${missing}` }
}

/** What is missing from a worker's task: the named one, or any that it picked. */
async function missingOfWorker(
  step: StepNode,
  values: Values,
  ports: Ports,
): Promise<string | undefined> {
  const word = workerTask(step, values)
  if (word !== undefined) return missingOf(word, ports)
  if (!picksTask(step)) return undefined
  const counts = await countTasks(step, ports)
  const missing = await Promise.all(counts.finished.map((id) => missingOf(id, ports)))
  if (missing.includes(undefined)) return undefined
  const end = endOfTasks(counts)
  if (end?.reason === 'until' && missing.length === 0) return undefined
  return missing[0] ?? end?.detail ?? 'no task was finished'
}

async function missingOf(word: string, { tasks }: Ports): Promise<string | undefined> {
  try {
    return (await tasks.find(word)).missing
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return error.message
  }
}

/** A text if tasks are ready and the agent builds from tasks. */
export async function stillReady(step: StepNode, ports: Ports): Promise<string | undefined> {
  if (step.agent.finishesTasks !== true) return undefined
  const { ready } = await countTasks(step, ports)
  return ready === 0 ? undefined : describeReady(ready)
}

/** How a step whose agent builds from tasks ends; undefined if the tasks do not decide it. */
export async function taskEnd(step: StepNode, ports: Ports): Promise<TaskVerdict | undefined> {
  return step.agent.finishesTasks === true ? endOfTasks(await countTasks(step, ports)) : undefined
}

/** Whether an agent that builds from tasks has to wait for other branches of the run. */
export async function waitsForBranches(step: StepNode, ports: Ports): Promise<boolean> {
  return step.agent.finishesTasks === true && isInBranches(await countTasks(step, ports))
}

/** Counts the tasks, including the current state of those that were open before. */
export function countTasks(step: StepNode, { tasks, state }: Ports): Promise<TaskCounts> {
  const { openTasks: inRun = [] } = state()
  const { openTasks: inStep = [] } = stepAt(state(), step)
  return tasks.count({ inRun, inStep })
}

/** For an event: open tasks that no event of the step has listed yet. */
export async function newlyOpen(
  step: StepNode,
  { tasks, state }: Ports,
): Promise<{ readonly openTasks?: string[] }> {
  if (step.agent.finishesTasks !== true && !picksTask(step)) return {}
  const known = new Set(stepAt(state(), step).openTasks)
  const openTasks = (await tasks.open()).filter((id) => !known.has(id))
  return openTasks.length === 0 ? {} : { openTasks }
}
