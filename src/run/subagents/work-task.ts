import type { StepNode } from '../../chain/plan/plan.ts'
import type { Budget } from '../../chain/plan/policy.ts'
import { hasSetup } from '../../chain/prompts/read-phases.ts'
import { QueueClient } from '../../queue/client.ts'
import { actingFor, type Acting, type Claim, type Task } from '../../queue/task.ts'
import type { QueueProvider } from '../../queue/tools/provider.ts'
import { prepareTurn } from '../agent/agent-turn.ts'
import { actingEnvironment, stepEnvironment } from '../process/environment.ts'
import { followAgent } from '../agent/follow-agent.ts'
import { warnerFor, type Place } from '../place.ts'
import { setUp } from './prompt-tasks.ts'
import { TASK_PATH } from '../process/family.ts'
import type { TaskWorktree } from '../worktrees/worktree.ts'
import { StopError } from '../process/git.ts'
import type { AttemptResult, PoolContext } from './pool-context.ts'
import { makeQueueProvider } from './queue-provider.ts'
import { endOfTurn, type Stopped } from './task-end.ts'

interface Job {
  readonly claim: Claim
  readonly node: StepNode
  /** Name of the agent that pushed it. */
  readonly parent: string
  readonly place: Place
  /** Aborts with a `StopReason` when the task is cancelled. */
  readonly cancel: AbortSignal
  /** The same, or when the run is stopped. */
  readonly stop: AbortSignal
  readonly whyStopped: () => Stopped | undefined
  /** Reserves the budget of the attempt; called once. */
  readonly reserve: (node: StepNode, mayQueue: boolean) => Budget
}

/** Runs the setup and the agent of a task; throws if the agent cannot be started. */
export async function runAttempt(job: Job, context: PoolContext): Promise<AttemptResult> {
  const { claim, node, parent, place, stop, cancel, whyStopped, reserve } = job
  const { plan, ports, store, pushers } = context
  const { task } = claim
  const worktree = await makeWorktree(job, context)
  const step = worktree === undefined ? node : { ...node, cwd: worktree.cwd }
  pushers.began(task, step)
  const acting = actingFor(claim)
  const file = `the prompt of task ${task.name}`
  // As a file, because variables are not expanded in files.
  const prompted = { ...step, prompt: [{ level: 'step' as const, file: [file], base: '' }] }
  const prepared = prepareTurn(prompted, place, context, {
    acting,
    mode: 'task',
    introduction: introduce(task, parent),
    readPrompt: (path, base) =>
      base === '' && path === file ? task.prompt : ports.readPrompt(path, base),
    reserve: (mayQueue) => reserve(step, mayQueue),
  })
  const { launch, prompt, promptHash, phases, left } = prepared
  if (hasSetup(phases)) {
    await setUp(new QueueClient(store, plan.run, acting), phases, `${task.id}.setup`)
  }
  if (stop.aborted) throw new StopError('stopped before the agent was started')
  const about = {
    task: task.name,
    id: task.id,
    parent,
    agent: step.agent.name,
    ...(launch.isStructured === true ? { isStructured: true } : {}),
    ...(prompt === undefined ? {} : { promptHash: promptHash() }),
    ...(worktree && { worktree: { path: worktree.path, branch: worktree.branch } }),
  }
  const env = {
    ...stepEnvironment(step, place.iteration, context),
    ...actingEnvironment(acting),
    FORKHESTRA_PARENT_NAME: parent,
    [TASK_PATH]: [ports.env[TASK_PATH], taskKey(claim)].filter(Boolean).join(':'),
  }
  const queue = providerFor(acting, step, place, context)
  const turn = { place, env, left, stop, cancel, queue }
  const turned = await followAgent(launch, step, turn, context, (started) =>
    ports.emit({ type: 'task_started', ...place, ...about, ...started }),
  )
  const whole = `forkhestra logs ${plan.run} --task ${task.name}`
  return { end: endOfTurn(turned, whyStopped(), whole), agent: step.agent.name, turned }
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

/** In the environment of every process that an attempt starts. */
export function taskKey({ task, attempt }: Claim): string {
  return `${task.id}.${attempt}`
}

/** The system prompt of a named agent cannot say who its parent is. */
function introduce({ name, options }: Task, parent: string): string | undefined {
  if (options.agent === undefined) return undefined
  return `In this run your name is ${name}. ${parent} has given you the task, and gets your last message.`
}

/** For the built-in agent, which runs in this process. */
function providerFor(
  agent: Acting,
  step: StepNode,
  place: Place,
  { plan, store, ports }: PoolContext,
): QueueProvider {
  return makeQueueProvider({
    run: plan.run,
    agent,
    isThere: () => true,
    open: () => Promise.resolve(store),
    checkAgent: (name) =>
      ports.queue!.subAgent({ name: 'task', options: { agent: name } }, agent.name, step),
    warn: warnerFor(place, ports),
  })
}
