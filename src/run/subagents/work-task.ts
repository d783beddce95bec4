import { errorWithHint, UserError } from '../../base/errors.ts'
import { makeLaunch } from '../../chain/plan/launch.ts'
import { builtInVariables, type StepNode } from '../../chain/plan/plan.ts'
import type { Budget } from '../../chain/plan/policy.ts'
import type { ReadPrompt } from '../../chain/prompts/choose.ts'
import { hasSetup } from '../../chain/prompts/read-phases.ts'
import type { RetryDelay, QueueStore } from '../../queue/store.ts'
import {
  actingFor,
  type Acting,
  type Claim,
  type End,
  type FailureClass,
  type Task,
} from '../../queue/task.ts'
import type { QueueProvider } from '../../queue/tools/provider.ts'
import { followLaunch, keepPrompt, readerFor } from '../agent/agent-turn.ts'
import { SpawnError } from '../process/child.ts'
import type { Context } from '../chain/context.ts'
import { actingEnvironment, queueServer, stepEnvironment } from '../agent/environment.ts'
import { endProcesses } from '../process/end-processes.ts'
import { TASK_PATH, treeOf } from '../process/family.ts'
import { followAgent, type TurnResult } from '../agent/follow-agent.ts'
import type { Place } from '../chain/place.ts'
import { makeQueueProvider } from './queue-provider.ts'
import { setUp } from '../chain/prompt-tasks.ts'
import { classOfError, endOfTurn, type Stopped } from './task-end.ts'
import type { OpenWorktrees } from '../worktrees/open-worktrees.ts'
import type { TaskWorktree, Worktrees } from '../worktrees/worktree.ts'
import { GitStopped } from '../worktrees/worktree-git.ts'

export interface Job {
  readonly claim: Claim
  readonly node: StepNode
  /** Name of the agent that pushed it. */
  readonly parent: string
  readonly place: Place
  /** Aborts with a `StopReason`. */
  readonly stop: AbortSignal
  readonly whyStopped: () => Stopped | undefined
  /** Why the agent was never started. */
  readonly whyNotBegun: () => Refused | undefined
  /** Called with the step as it really runs: tasks that it pushes run like it. */
  readonly began: (node: StepNode) => void
  /** Reserves the budget of the attempt; called once. */
  readonly promise: (node: StepNode, mayQueue: boolean) => Budget
}

/** The result of an attempt's agent, before its children and its worktree are dealt with. */
export interface AttemptResult {
  readonly end: End
  readonly agent: string
  readonly turned?: TurnResult
  /** Set if the attempt is repeated without counting as a retry. */
  readonly later?: RetryDelay | undefined
}

/** Why a task does not start, and when it may. */
export interface Refused {
  readonly class: FailureClass
  readonly error: string
  readonly later?: RetryDelay | undefined
}

/** Stopped before its agent was started. */
class NotBegun extends Error {}

export type PoolContext = Pick<Context, 'plan' | 'ports' | 'family' | 'spending'> & {
  readonly store: QueueStore
  readonly worktrees: Worktrees
  readonly openWorktrees: OpenWorktrees
}

/** Runs the setup and the agent of a task. An error before the agent starts is a failed end. */
export async function runAttempt(job: Job, context: PoolContext): Promise<AttemptResult> {
  const { claim, node, parent, place } = job
  try {
    const worktree = await makeWorktree(job, context)
    const step = worktree === undefined ? node : { ...node, cwd: worktree.cwd }
    job.began(step)
    return await takeTurn(step, worktree, job, context)
  } catch (error) {
    const { later, ...why } = whyNot(error, job)
    const { id, name } = claim.task
    const about = { task: name, id, parent, agent: node.agent.name }
    context.ports.emit({ type: 'task_started', ...place, ...about })
    return { end: { success: false, ...why }, agent: node.agent.name, later }
  }
}

async function makeWorktree(
  { claim, node, stop }: Job,
  { plan, worktrees, openWorktrees }: PoolContext,
): Promise<TaskWorktree | undefined> {
  const { task, attempt } = claim
  if (task.options.isolation !== 'worktree') return undefined
  const { cwd } = node
  const worktree = await worktrees.make({ cwd, run: plan.run, task: task.name, attempt }, stop)
  openWorktrees.add(task, worktree)
  return worktree
}

function whyNot(error: unknown, { whyNotBegun }: Job): Refused {
  const stopped =
    error instanceof GitStopped || error instanceof NotBegun ? whyNotBegun() : undefined
  if (stopped !== undefined) return stopped
  if (!(error instanceof UserError || error instanceof SpawnError)) throw error
  return { class: classOfError(error), error: errorWithHint(error) }
}

/** In the environment of every process that an attempt starts. */
export function taskKey({ task, attempt }: Claim): string {
  return `${task.id}.${attempt}`
}

async function takeTurn(
  step: StepNode,
  worktree: TaskWorktree | undefined,
  { claim, parent, place, stop, whyStopped, promise }: Job,
  context: PoolContext,
): Promise<AttemptResult> {
  const { plan, ports, store } = context
  const { task } = claim
  const values = builtInVariables(plan.run, step, 1)
  const acting = actingFor(claim)
  const queue = queueServer(plan.run, ports, acting)
  let left: Budget = {}
  const promised = (mayQueue: boolean) => {
    left = promise(step, mayQueue)
    return left.costUsd
  }
  const warn = (text: string) => ports.emit({ type: 'warning', text: `task ${task.name}: ${text}` })
  const extra = {
    promise: promised,
    readFile: readerFor(step, warn),
    queue,
    mode: 'task' as const,
    introduction: introduce(task, parent),
  }
  const read = withPrompt(task, ports.readPrompt)
  const { launch, prompt, phases } = makeLaunch(promptOf(task, step), values, read, extra)
  if (hasSetup(phases)) {
    await setUp(phases, `${task.id}.setup`, { store, run: plan.run, agent: acting })
  }
  const env = {
    ...stepEnvironment(step, place.iteration, context),
    ...actingEnvironment(acting),
    FORKHESTRA_PARENT_NAME: parent,
    [TASK_PATH]: [ports.env[TASK_PATH], taskKey(claim)].filter(Boolean).join(':'),
  }
  if (stop.aborted) throw new NotBegun()
  const about = {
    task: task.name,
    id: task.id,
    parent,
    agent: step.agent.name,
    ...(launch.isStructured === true ? { isStructured: true } : {}),
  }
  const kept = prompt === undefined ? {} : keepPrompt(prompt.text, ports)
  const where =
    worktree === undefined ? {} : { worktree: { path: worktree.path, branch: worktree.branch } }
  const turned = await followLaunch(launch, ports, async (way, isFirst) => {
    const provider = taskProvider(acting, step, context, warn)
    const following = { place, env, left, stop, queue: provider }
    const { pid, end } = followAgent(way, step, following, context)
    const process = pid === undefined ? {} : { pid }
    const argv = [...way.argv]
    if (isFirst)
      ports.emit({ type: 'task_started', ...place, ...about, ...process, argv, ...kept, ...where })
    return pid === undefined ? end : ended(pid, end, stop, context)
  })
  const whole = `forkhestra logs ${plan.run} --task ${task.name}`
  return { end: endOfTurn(turned, whyStopped(), whole), agent: step.agent.name, turned }
}

/** The system prompt of a named agent cannot say who its parent is. */
function introduce({ name, options }: Task, parent: string): string | undefined {
  if (options.agent === undefined) return undefined
  return `In this run your name is ${name}. ${parent} has given you the task, and gets your last message.`
}

/** For the built-in agent, which runs in this process. */
function taskProvider(
  agent: Acting,
  step: StepNode,
  { plan, store, ports }: PoolContext,
  warn: (text: string) => void,
): QueueProvider {
  const open = () => Promise.resolve(store)
  const checkAgent = (name: string) =>
    ports.queue!.subAgent({ name: 'task', options: { agent: name } }, agent.name, step)
  return makeQueueProvider({ run: plan.run, agent, isThere: () => true, open, checkAgent, warn })
}

/** Ends the whole process tree of a cancelled attempt. */
async function ended(
  pid: number,
  end: Promise<TurnResult>,
  stop: AbortSignal,
  { ports }: PoolContext,
): Promise<TurnResult> {
  const tree = treeOf(pid)
  // Read at the abort, because a dead process no longer shows its children.
  const look = () => void tree()
  stop.addEventListener('abort', look)
  try {
    const turned = await end
    if (stop.aborted && !ports.stop.aborted) await endProcesses(tree, ports.force)
    return turned
  } finally {
    stop.removeEventListener('abort', look)
  }
}

/** Variables are not expanded in a task's prompt. */
function promptOf(task: Task, step: StepNode): StepNode {
  return { ...step, prompt: [{ level: 'step', file: [promptName(task)], base: '' }] }
}

function promptName({ name }: Task): string {
  return `the prompt of task ${name}`
}

function withPrompt(task: Task, readPrompt: ReadPrompt): ReadPrompt {
  return (path, base) =>
    base === '' && path === promptName(task) ? task.prompt : readPrompt(path, base)
}
