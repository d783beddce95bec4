import { errorWithHint, UserError } from '../base/errors.ts'
import { makeLaunch } from '../plan/launch.ts'
import { builtInVariables, type StepNode } from '../plan/plan.ts'
import type { Budget } from '../plan/policy.ts'
import type { ReadPrompt } from '../prompt/choose.ts'
import { hasSetup } from '../prompt/read-phases.ts'
import type { Later, QueueStore } from '../queue/store.ts'
import {
  actingFor,
  type Acting,
  type Claim,
  type End,
  type FailureClass,
  type Task,
} from '../queue/task.ts'
import type { QueueDoor } from '../verbs/door.ts'
import { followAnyWay, keepPrompt, readerFor } from './agent-turn.ts'
import { SpawnError } from './child.ts'
import type { Context } from './context.ts'
import { actingEnvironment, queueServer, stepEnvironment } from './environment.ts'
import { endProcesses } from './end-processes.ts'
import { TASK_PATH, treeOf } from './family.ts'
import { followAgent, type Turned } from './follow-agent.ts'
import type { Place } from './place.ts'
import { makeDoor } from './queue-door.ts'
import { setUp } from './prompt-tasks.ts'
import { classOfError, endOfTurn, type Stopped } from './task-end.ts'
import type { Sites } from './sites.ts'
import type { Site, Worktrees } from './worktree.ts'
import { GitStopped } from './worktree-git.ts'

/** What an attempt at a task needs. */
export interface Job {
  readonly claim: Claim
  /** How its agent runs. */
  readonly node: StepNode
  /** Name of the agent that has queued it. */
  readonly parent: string
  readonly place: Place
  /** Aborts, with a `StopReason`, when the agent is to end. */
  readonly stop: AbortSignal
  /** Why it was ended by us. */
  readonly whyStopped: () => Stopped | undefined
  /** The same where its agent was never started. */
  readonly whyNotBegun: () => Refused | undefined
  /** Is told how the agent really runs: what it queues runs like it. */
  readonly began: (node: StepNode) => void
  /** Says what it may spend, once: from then on it counts as spent. */
  readonly promise: (node: StepNode, mayQueue: boolean) => Budget
}

/** What an attempt at a task has come to, before its children and its worktree are seen to. */
export interface Worked {
  readonly end: End
  /** Who worked. */
  readonly agent: string
  readonly turned?: Turned
  /** Where it is not over: when it is tried again. */
  readonly later?: Later | undefined
}

/** Why a task does not begin, and, where it may later, when. */
export interface Refused {
  readonly class: FailureClass
  readonly error: string
  readonly later?: Later | undefined
}

/** It was told to end before its agent was started. */
class NotBegun extends Error {}

export type CrewContext = Pick<Context, 'plan' | 'ports' | 'family' | 'spending'> & {
  readonly store: QueueStore
  readonly worktrees: Worktrees
  readonly sites: Sites
}

/** Works once at a task: its setup, its agent. What keeps it from beginning is an end, too. */
export async function workAt(job: Job, context: CrewContext): Promise<Worked> {
  const { claim, node, parent, place } = job
  try {
    const site = await makeSite(job, context)
    const step = site === undefined ? node : { ...node, cwd: site.cwd }
    job.began(step)
    return await takeTurn(step, site, job, context)
  } catch (error) {
    const { later, ...why } = whyNot(error, job)
    const { id, name } = claim.task
    const about = { task: name, id, parent, agent: node.agent.name }
    context.ports.emit({ type: 'task_started', ...place, ...about })
    return { end: { success: false, ...why }, agent: node.agent.name, later }
  }
}

async function makeSite(
  { claim, node, stop }: Job,
  { plan, worktrees, sites }: CrewContext,
): Promise<Site | undefined> {
  const { task, attempt } = claim
  if (task.options.isolation !== 'worktree') return undefined
  const { cwd } = node
  const site = await worktrees.make({ cwd, run: plan.run, task: task.name, attempt }, stop)
  sites.hold(task, site)
  return site
}

function whyNot(error: unknown, { whyNotBegun }: Job): Refused {
  const stopped =
    error instanceof GitStopped || error instanceof NotBegun ? whyNotBegun() : undefined
  if (stopped !== undefined) return stopped
  if (!(error instanceof UserError || error instanceof SpawnError)) throw error
  return { class: classOfError(error), error: errorWithHint(error) }
}

/** What everything that an attempt starts has in its environment. */
export function taskKey({ task, attempt }: Claim): string {
  return `${task.id}.${attempt}`
}

async function takeTurn(
  step: StepNode,
  site: Site | undefined,
  { claim, parent, place, stop, whyStopped, promise }: Job,
  context: CrewContext,
): Promise<Worked> {
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
  const where = site === undefined ? {} : { worktree: { path: site.path, branch: site.branch } }
  const turned = await followAnyWay(launch, ports, async (way, isFirst) => {
    const door = taskDoor(acting, step, context, warn)
    const following = { place, env, left, stop, queue: door }
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

/** One that is named has a system prompt of its own, which cannot know whom it works for. */
function introduce({ name, options }: Task, parent: string): string | undefined {
  if (options.agent === undefined) return undefined
  return `In this run your name is ${name}. ${parent} has given you the task, and gets your last message.`
}

/** An agent of this process needs no other one to get to its queue. */
function taskDoor(
  agent: Acting,
  step: StepNode,
  { plan, store, ports }: CrewContext,
  warn: (text: string) => void,
): QueueDoor {
  const open = () => Promise.resolve(store)
  const checkAgent = (name: string) =>
    ports.queue!.subAgent({ name: 'task', options: { agent: name } }, agent.name, step)
  return makeDoor({ run: plan.run, agent, isThere: () => true, open, checkAgent, warn })
}

/** Whoever is told to end is not left behind, and neither is what it has started. */
async function ended(
  pid: number,
  end: Promise<Turned>,
  stop: AbortSignal,
  { ports }: CrewContext,
): Promise<Turned> {
  const tree = treeOf(pid)
  // From then on what it has started is known, also once it is gone itself.
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

/** In it nothing is filled in: it is what the agent that queued it has written. */
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
