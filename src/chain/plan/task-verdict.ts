import { listed } from '../../base/shorten.ts'
import { takesTask } from './agent-role.ts'
import { UserError } from '../../base/errors.ts'
import { fillTemplate, renderTemplate } from '../parse/template.ts'
import type { Values } from '../prompts/choose.ts'
import { namesTask, readOwnArgs } from './agent-role.ts'
import { builtInVariables, stepsOf, type Plan, type StepNode } from './plan.ts'
import type { PolicyLine } from './policy-lines.ts'
import { PlanError } from './problems.ts'
import type { TaskCounts, Tasks } from './tasks.ts'

/** How a step that builds from tasks ends. */
export interface TaskVerdict {
  readonly reason: 'until' | 'blocked'
  readonly detail: string
  /** `tasks_held`: others hold the tasks that are left. */
  readonly cause?: 'no_tasks' | 'tasks_held' | LeftCause | undefined
}

/** What needs attention first if tasks are left but none is ready. */
type LeftCause =
  'tasks_missing' | 'tasks_archived' | 'tasks_unclaimed' | 'tasks_unreadable' | 'tasks_left'

/**
 * How the step ends if all tasks are done, or none can be started; undefined if work is left or there are no
 * tasks.
 */
export function endOfTasks(counts: TaskCounts): TaskVerdict | undefined {
  const { ready, held, total } = counts
  if (ready > 0 || isEmpty(counts) || isInBranches(counts)) return undefined
  const left = findLeft(counts)
  if (left !== undefined) return { reason: 'blocked', ...left }
  const done = total === 1 ? 'the only task is Done' : `all ${total} tasks are Done`
  if (held === 0) return { reason: 'until', detail: done }
  const detail = `no task is ready, ${describeHeld(held)}`
  return { reason: 'until', detail, cause: 'tasks_held' }
}

/** Whether only other branches of the run have work now, which may lead to more. */
export function isInBranches({ ready, inBranches = 0 }: TaskCounts): boolean {
  return ready === 0 && inBranches > 0
}

/** Whether there are no tasks now, and were none before. */
function isEmpty({ total, broken, gone }: TaskCounts): boolean {
  return total + broken + gone === 0
}

/** `3 tasks are still ready`. */
export function describeReady(ready: number): string {
  return ready === 1 ? '1 task is still ready' : `${ready} tasks are still ready`
}

/** Why the work is not done although no task is ready. */
function findLeft(counts: TaskCounts): Pick<TaskVerdict, 'detail' | 'cause'> | undefined {
  const { blocked, waiting, stuck, held, broken, gone, archivedUnfinished, problem } = counts
  if (problem !== undefined) return { detail: problem }
  // Others will finish held tasks; tasks that wait for those are still ours.
  if (blocked + waiting + stuck + broken + gone + archivedUnfinished.length === 0) return undefined
  const words = [
    `${blocked} blocked`,
    `${waiting} waiting`,
    ...(held === 0 ? [] : [describeHeld(held)]),
    ...(stuck === 0 ? [] : [`${stuck} in progress but unclaimed`]),
    ...(broken === 0 ? [] : [`${broken} unreadable`]),
    ...(archivedUnfinished.length === 0
      ? []
      : [
          `${archivedUnfinished.length} archived, not Done (${listed(archivedUnfinished, NAMED_AT_MOST)})`,
        ]),
    ...(gone === 0 ? [] : [`${gone} with a missing file`]),
  ]
  return { detail: `tasks left: ${words.join(', ')}`, cause: causeOfLeft(counts) }
}

function causeOfLeft({ gone, archivedUnfinished, stuck, broken }: TaskCounts): LeftCause {
  if (gone > 0) return 'tasks_missing'
  if (archivedUnfinished.length > 0) return 'tasks_archived'
  if (stuck > 0) return 'tasks_unclaimed'
  return broken > 0 ? 'tasks_unreadable' : 'tasks_left'
}

const NAMED_AT_MOST = 5

function describeHeld(held: number): string {
  return `${held} in progress elsewhere`
}

/** Whether tasks alone define the work; a prompt on the command line is also work. */
export function isTaskDriven({ agent, prompt }: StepNode): boolean {
  return agent.finishesTasks === true && !prompt.some(({ level }) => level === 'command line')
}

/** Why the first step's agent need not start; undefined if it has work. */
export async function nothingToBuild(
  step: StepNode,
  counts: () => Promise<TaskCounts>,
): Promise<TaskVerdict | undefined> {
  if (!isTaskDriven(step) && !picksTask(step)) return undefined
  const known = await counts()
  if (!isEmpty(known)) return endOfTasks(known)
  return { reason: 'blocked', detail: 'there are no tasks', cause: 'no_tasks' }
}

/** Whether a worker picks a ready task itself. */
export function picksTask({ agent, args, prompt }: StepNode): boolean {
  return takesTask(agent) && prompt.length === 0 && !namesTask(args)
}

/** Refuses a run whose first step builds from tasks if there are none and nothing creates them first. */
export async function checkTasks(
  plan: Plan,
  tasks: Tasks,
  warnings: readonly string[] = [],
): Promise<void> {
  const first = stepsOf(plan.root)[0]!
  await checkNamedTask(first, plan, tasks, warnings)
  if (!isTaskDriven(first) && !picksTask(first)) return
  if (mayCreateTasks(first, plan) || !isEmpty(await tasks.count())) return
  const { name } = first.agent
  const planning = name.startsWith('fk:')
    ? 'Plan them from the specs in ralph/ and build them: forkhestra --chain ralph'
    : 'Plan them from specs (templates: forkhestra init) and build them: forkhestra --chain build-all'
  const message = `'${name}' builds from forge-tasks, and there are no tasks in ${tasks.folder()}`
  const hint = [
    planning,
    'Or create them yourself: forge-tasks create "Title" --ac "What can be checked"',
    withoutTasks(first),
  ].join('\n')
  throw new PlanError([{ message, hint }], warnings)
}

function withoutTasks({ agent }: StepNode): string {
  const { name } = agent
  // The bundled program has a different -p.
  return agent.engine !== 'binary' && agent.isBundled === true
    ? `For work without tasks pass a prompt: forkhestra ${name} -p "Fix the tests", or: ${name} "Fix the tests"`
    : 'For work without tasks pass a prompt with -p, or set "tasks": false for the agent.'
}

/** Refuses a worker whose task does not exist and cannot be created before the worker starts. */
async function checkNamedTask(
  first: StepNode,
  plan: Plan,
  tasks: Tasks,
  warnings: readonly string[],
): Promise<void> {
  const word = workerTask(first, builtInVariables(plan, first, 1))
  if (word === undefined || mayCreateTasks(first, plan)) return
  try {
    await tasks.find(word)
  } catch (error) {
    throw error instanceof UserError ? new PlanError(error.problems, warnings) : error
  }
}

/** The task id in the arguments of a worker. */
export function workerTask({ agent, args }: StepNode, values: Values): string | undefined {
  if (!takesTask(agent)) return undefined
  const words = args.map((arg) => renderTemplate(fillTemplate(arg, values)))
  return readOwnArgs(words, true).task
}

/** Whether a command runs before the first agent. */
function mayCreateTasks({ policy }: StepNode, plan: Plan): boolean {
  const command = plan.when ?? policy.when ?? plan.hooks.beforeStep ?? policy.hooks.beforeStep
  return command !== undefined
}

/** The lines of a dry run about a step that builds from tasks. */
export async function taskLines(step: StepNode, plan: Plan, tasks: Tasks): Promise<PolicyLine[]> {
  if (step.agent.finishesTasks !== true) return []
  const isCertain = step.number === 1 && !mayCreateTasks(step, plan)
  const verdict = isCertain ? await nothingToBuild(step, () => tasks.count()) : undefined
  if (verdict !== undefined) {
    const isChecked = verdict.reason === 'until' && step.policy.verify.length > 0
    const unless = isChecked ? ' unless a check fails' : ''
    return [{ label: 'tasks', words: `${verdict.detail}: the agent would not be started${unless}` }]
  }
  const { ready } = await tasks.count()
  const now = ready === 1 ? '1 is now' : `${ready === 0 ? 'none' : ready} are now`
  const what = step.loop === undefined ? 'the step is complete' : 'the marker counts'
  return [{ label: 'tasks', words: `${what} once no task is ready (${now})` }]
}
