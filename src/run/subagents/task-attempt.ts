import { awakeMs } from '../../base/awake.ts'
import { errorWithHint, UserError } from '../../base/errors.ts'
import { shorten } from '../../base/shorten.ts'
import type { StepNode } from '../../chain/plan/plan.ts'
import { hasSetup } from '../../chain/prompts/read-phases.ts'
import { QueueClient } from '../../queue/client.ts'
import type { RetryDelay } from '../../queue/store.ts'
import {
  actingFor,
  MAIN,
  stepAgentName,
  type Acting,
  type TaskClaim,
  type FailureClass,
} from '../../queue/task.ts'
import type { QueueProvider } from '../../queue/tools/provider.ts'
import { prepareTurn } from '../agent/agent-turn.ts'
import { followAgent } from '../agent/follow-agent.ts'
import { subAgentPlace, warnerFor, type Place } from '../place.ts'
import { stopReason, stopReasonOf } from '../ports.ts'
import { SpawnError } from '../process/child.ts'
import { actingEnvironment, stepEnvironment } from '../process/environment.ts'
import { TASK_PATH } from '../process/run-processes.ts'
import { StopError } from '../process/git.ts'
import type { TaskWorktree } from '../worktrees/worktree.ts'
import type { Backoff } from './backoff.ts'
import { closeAttempt, taskKey, type StoreServices } from './close-attempt.ts'
import type { AttemptResult, PoolContext } from './pool-context.ts'
import { setUp } from './prompt-tasks.ts'
import type { Pusher } from './pushers.ts'
import { makeQueueProvider } from './queue-provider.ts'
import {
  stopChildren,
  waitForChildren,
  willBeRetried,
  type ChildServices,
} from './task-children.ts'
import { classOfError, endOfTurn, type Stopped } from './task-end.ts'

/** What an attempt needs from the worker pool. */
interface PoolServices extends StoreServices, ChildServices {
  readonly backoff: Backoff
  /** Settles when all tasks that may start now have been claimed. */
  gathered(): Promise<unknown>
  /** How many attempts are about to start, including this one. */
  countStarting(): number
}

/** An error may quote a name of any length, and the store refuses results of more than 1 MiB. */
const LONGEST_ERROR = 10_000

/** Why a task does not start, and when it may. */
interface Refused {
  readonly class: FailureClass
  readonly error: string
  readonly later?: RetryDelay | undefined
}

/** One attempt at a task, from its claim to its end in the store. */
export class TaskAttempt {
  readonly claim: TaskClaim
  /** Claimed, but without its share of the budgets yet. */
  isStarting = true
  /** Its agent has ended, but its children have not. */
  isWaiting = false
  readonly #context: PoolContext
  readonly #pool: PoolServices
  #step: StepNode | undefined
  #place: Place
  /** Aborts with a `StopReason` when the task is cancelled. */
  readonly #cancel = new AbortController()
  /** The same, or when the run is stopped. */
  readonly #stop: AbortSignal
  #parent: Pusher
  #stopped: Stopped | undefined
  #isOver = false

  constructor(claim: TaskClaim, context: PoolContext, pool: PoolServices) {
    this.claim = claim
    this.#context = context
    this.#pool = pool
    const { run, parent } = claim.task
    this.#parent = { name: stepAgentName(run, parent) ?? MAIN, node: undefined }
    this.#step = context.pushers.stepAbove(claim.task)
    this.#place = this.#placeIn(this.#step)
    this.#stop = AbortSignal.any([this.#cancel.signal, context.ports.stop])
  }

  #placeIn(step: StepNode | undefined): Place {
    const { task, attempt } = this.claim
    const at = subAgentPlace(step, this.#context.ports.state())
    const scope = [...at.scope, `task:${task.name}`, `a${attempt}`]
    return { ...at, scope, attempt, task: task.name }
  }

  get isStopping(): boolean {
    return this.#stopped !== undefined && !this.#isOver
  }

  stop(stopped: Stopped): void {
    this.#stopped ??= stopped
    this.#cancel.abort(stopReason('SIGTERM', stopped.error))
  }

  async run(): Promise<void> {
    const began = awakeMs()
    const { claim } = this
    const { pushers, spending } = this.#context
    const result = await this.#work()
    const place = this.#place
    const endChildren = () => this.#endChildren(result)
    const closing = { claim, result, parent: this.#parent.name, place, endChildren, began }
    await closeAttempt(closing, this.#pool, this.#context, () => {
      this.#isOver = true
      pushers.ended(claim.task)
    })
    spending.recorded(place.scope)
  }

  #endChildren(result: AttemptResult): Promise<void> {
    this.isWaiting = true
    const willRetry = willBeRetried(result, this.claim) && !this.#stop.aborted
    const end = willRetry ? stopChildren : waitForChildren
    return end(this.claim, this.#stop, this.#pool, this.#context)
  }

  async #work(): Promise<AttemptResult> {
    const { task } = this.claim
    const { pushers } = this.#context
    let node: StepNode | undefined
    try {
      this.#step = await pushers.stepOf(task)
      this.#place = this.#placeIn(this.#step)
      this.#parent = await pushers.of(task)
      node = await pushers.nodeFor(task, this.#parent)
      await this.#pool.gathered()
      const refused = this.#whyNot(node)
      if (refused !== undefined) return this.#refuse(node, refused)
      return this.#afterTurn(await this.#runAgent(node), node)
    } catch (error) {
      return this.#refuse(node, this.#whyFailed(error))
    }
  }

  /** Runs the setup and the agent of the task; throws if the agent cannot be started. */
  async #runAgent(node: StepNode): Promise<AttemptResult> {
    const { claim } = this
    const { plan, ports, store, pushers } = this.#context
    const { task } = claim
    const { name: parent } = this.#parent
    const place = this.#place
    const stop = this.#stop
    const worktree = await this.#makeWorktree(node)
    const step = worktree === undefined ? node : { ...node, cwd: worktree.cwd }
    pushers.began(task, step)
    const acting = actingFor(claim)
    const prepared = this.#prepareTurn(step, acting)
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
      ...stepEnvironment(step, place.iteration, this.#context),
      ...actingEnvironment(acting),
      FORKHESTRA_PARENT_NAME: parent,
      [TASK_PATH]: [ports.env[TASK_PATH], taskKey(claim)].filter(Boolean).join(':'),
    }
    const queue = this.#makeProvider(acting, step)
    const turn = { place, env, left, stop, cancel: this.#cancel.signal, queue }
    const turned = await followAgent(launch, step, turn, this.#context, (started) =>
      ports.emit({ type: 'task_started', ...place, ...about, ...started }),
    )
    const whole = `forkhestra logs ${plan.run} --task ${task.name}`
    return { end: endOfTurn(turned, this.#whyStopped(), whole), agent: step.agent.name, turned }
  }

  #prepareTurn(step: StepNode, acting: Acting) {
    const { ports, spending } = this.#context
    const { task } = this.claim
    const file = `the prompt of task ${task.name}`
    // Passed as a file, because variables are not expanded in files.
    const prompted = { ...step, prompt: [{ level: 'step' as const, file: [file], base: '' }] }
    return prepareTurn(prompted, this.#place, this.#context, {
      acting,
      mode: 'task',
      introduction: this.#introduce(),
      readPrompt: (path, base) =>
        base === '' && path === file ? task.prompt : ports.readPrompt(path, base),
      reserve: (mayQueue) => {
        const sharers = this.#pool.countStarting()
        this.isStarting = false
        return spending.reserve(step, this.#place, { sharers, mayQueue })
      },
    })
  }

  /** A named agent's own system prompt cannot say who its parent is. */
  #introduce(): string | undefined {
    const { name, options } = this.claim.task
    if (options.agent === undefined) return undefined
    return `Your name in this run is ${name}. ${this.#parent.name} gave you this task and receives your last message.`
  }

  async #makeWorktree({ cwd }: StepNode): Promise<TaskWorktree | undefined> {
    const { plan, worktrees, openWorktrees } = this.#context
    const { task, attempt } = this.claim
    if (task.options.isolation !== 'worktree') return undefined
    const wanted = { cwd, run: plan.run, task: task.name, attempt }
    const worktree = await worktrees.make(wanted, this.#stop)
    openWorktrees.add(task, worktree)
    return worktree
  }

  /** For the built-in agent, which runs in this process. */
  #makeProvider(agent: Acting, step: StepNode): QueueProvider {
    const { plan, store, ports } = this.#context
    return makeQueueProvider({
      run: plan.run,
      agent,
      hasStore: () => true,
      open: () => Promise.resolve(store),
      checkAgent: (name) =>
        ports.queue!.subAgent({ name: 'task', options: { agent: name } }, agent.name, step),
      warn: warnerFor(this.#place, ports),
    })
  }

  /** Why the agent may not start now. */
  #whyNot(node: StepNode): Refused | undefined {
    const spent = this.#context.spending.spentBudget(node)
    if (spent?.detail !== undefined) return { class: 'budget', error: spent.detail }
    const stopped = this.#whyNotStarted()
    if (stopped !== undefined) return stopped
    const deferral = this.#pool.backoff.deferralOf(node)
    if (deferral === undefined || 'class' in deferral) return deferral
    const error = 'an agent of the same kind has hit a limit'
    return { class: 'transient', error, later: deferral }
  }

  #whyFailed(error: unknown): Refused {
    const stopped = error instanceof StopError ? this.#whyNotStarted() : undefined
    if (stopped !== undefined) return stopped
    if (!(error instanceof UserError || error instanceof SpawnError)) throw error
    return { class: classOfError(error), error: shorten(errorWithHint(error), LONGEST_ERROR) }
  }

  /** In the events, a task that cannot start is reported as started and ended. */
  #refuse(node: StepNode | undefined, { later, ...why }: Refused): AttemptResult {
    this.isStarting = false
    const { id, name: task, options } = this.claim.task
    const { name: parent, node: pusher } = this.#parent
    const agent = node?.agent.name ?? options.agent ?? pusher?.agent.name ?? 'claude'
    this.#context.ports.emit({ type: 'task_started', ...this.#place, task, id, parent, agent })
    return { end: { success: false, ...why }, agent, later }
  }

  /** A rate-limited attempt is repeated without counting as a retry, or fails for good. */
  #afterTurn(result: AttemptResult, node: StepNode): AttemptResult {
    const { turned, end } = result
    if (turned === undefined || end.success || this.#whyStopped() !== undefined) return result
    const deferral = this.#pool.backoff.after(node, turned.outcome, this.#place, this.#step)
    if (deferral === undefined) return result
    return 'inMs' in deferral
      ? { ...result, later: deferral }
      : { ...result, end: { ...end, ...deferral } }
  }

  /** A task that was claimed but not started when the run stops is repeated without counting as a retry. */
  #whyNotStarted(): Refused | undefined {
    const stopped = this.#whyStopped()
    if (stopped === undefined || this.#stopped !== undefined) return stopped
    return { ...stopped, later: { inMs: 0 } }
  }

  #whyStopped(): Stopped | undefined {
    if (this.#stopped !== undefined) return this.#stopped
    const { stop } = this.#context.ports
    if (!stop.aborted) return undefined
    return { class: 'lost', error: `the run was ${stopReasonOf(stop).words}` }
  }
}
