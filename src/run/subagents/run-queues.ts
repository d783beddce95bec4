import { errorWithHint, UserError } from '../../base/errors.ts'
import type { End, LeftInQueue } from '../../records/events/schema.ts'
import { stepAt } from '../../records/events/state.ts'
import { isComplete } from '../../records/events/step-state.ts'
import { keyOf } from '../../records/events/tree.ts'
import type { Phases } from '../../chain/parse/prompt/phases.ts'
import { makeLaunch } from '../../chain/plan/launch.ts'
import { builtInVariables, type Plan, type StepNode } from '../../chain/plan/plan.ts'
import { hasSetup, hasTeardown } from '../../chain/prompts/read-phases.ts'
import type { QueueStore } from '../../queue/store.ts'
import { MAIN } from '../../queue/task.ts'
import type { QueueProvider } from '../../queue/tools/provider.ts'
import { agentsInBranches } from '../agent-names.ts'
import { cancelChildren } from './task-children.ts'
import type { WorkerPool } from './worker-pool.ts'
import { readLeftInQueue, queuedIn } from './left-in-queue.ts'
import type { Context } from '../context.ts'
import { currentPlace } from '../place.ts'
import { makeQueueProvider } from './queue-provider.ts'
import type { Ports } from '../ports.ts'
import { StepAgents } from './step-agents.ts'
import {
  isStoreFailure,
  isStoreGone,
  isStoreLost,
  retryStoreFailures,
  StoreWarnings,
} from './store-failures.ts'

/** The queues and inboxes of a run; the store is opened on first use. */
export class RunQueues {
  readonly #context: Context
  readonly #plan: Plan
  readonly #ports: Ports
  #opening: Promise<QueueStore> | undefined
  #pool: WorkerPool | undefined
  /** Pools whose store was deleted. */
  readonly #abandoned: { readonly pool: WorkerPool; readonly store: QueueStore }[] = []
  /** Set once the store was damaged or lost. */
  damage: UserError | undefined
  /** Whether started tasks are unfinished although the run was not stopped. */
  #isAnyLeft = false
  readonly #warnings: StoreWarnings
  /** The texts of all warnings so far. */
  readonly #warned = new Set<string>()
  readonly #ending = new AbortController()
  /** Checks whether an agent has created the store. */
  #polling: Timer | undefined
  readonly #agents: StepAgents
  /** The phases of the last prompt of each step, by its key. */
  readonly #phases = new Map<string, Phases>()

  constructor(context: Context) {
    const { plan, ports } = context
    this.#context = context
    this.#plan = plan
    this.#ports = ports
    this.#warnings = new StoreWarnings((text) => this.#emitWarning(text))
    this.#agents = new StepAgents(context)
  }

  /** Opens the store if it exists, or as soon as an agent creates it. */
  async begin(): Promise<void> {
    const { queue } = this.#ports
    const open = (ms?: number) => this.#guard(() => this.#withRetries(() => this.#open(), ms))
    if (queue === undefined) return
    if (queue.hasStore()) return void (await open())
    // Polling, because a watch on the folder would fire for every event that is written.
    this.#polling = setInterval(() => {
      if (!queue.hasStore()) return
      clearInterval(this.#polling)
      void open(Infinity)
    }, POLL_MS)
    this.#polling.unref()
  }

  /** From now on, others may wait for the agents of these steps in branches. */
  attend(...keys: readonly string[]): void {
    for (const name of this.#namesAt(keys)) this.#agents.set(name, 'running')
  }

  /** The agents of these steps in branches are paused. */
  async leave(...keys: readonly string[]): Promise<void> {
    const names = this.#namesAt(keys)
    for (const name of names) this.#agents.set(name, 'idle')
    if (names.length > 0) await this.#guard(() => this.#saveAgents())
  }

  #namesAt(keys: readonly string[]): string[] {
    const names = agentsInBranches(this.#plan)
    return keys.flatMap((key) => names.get(key) ?? [])
  }

  /** Before a step's agent starts: runs the setup of its prompt, once per copy and round of its groups. */
  async beginTurn(step: StepNode, phases: Phases): Promise<void> {
    const { run } = this.#plan
    this.#phases.set(keyOf(step), phases)
    this.#agents.begin(step)
    const { emit, state } = this.#ports
    const isDue = !stepAt(state(), step).isSetUp && hasSetup(phases)
    if (isDue) await this.#open()
    const store = await this.#opening
    if (store === undefined) return
    await this.#agents.save(store)
    if (!isDue) return
    const { QueueClient } = await import('../../queue/client.ts')
    const { phaseId, setUp } = await import('./prompt-tasks.ts')
    const client = new QueueClient(store, run, this.#agents.nameOf(step))
    const done = await setUp(client, phases, `${phaseId(run, step)}.setup`)
    emit({ type: 'phase_ended', ...currentPlace(step, state()), phase: 'setup', ...done })
  }

  /** For the built-in agent of a step; undefined if the run cannot have queues. */
  provider(step: StepNode): QueueProvider | undefined {
    const { queue, emit } = this.#ports
    if (queue === undefined) return undefined
    const agent = this.#agents.nameOf(step)
    return makeQueueProvider({
      run: this.#plan.run,
      agent,
      // Others that work in parallel may send to it at any time.
      hasStore: () => agent !== MAIN || queue.hasStore(),
      open: async () => {
        const store = await this.#open()
        this.#agents.begin(step)
        await this.#agents.save(store)
        return store
      },
      checkAgent: (name) => queue.subAgent({ name: 'task', options: { agent: name } }, agent, step),
      warn: (text) => emit({ type: 'warning', text }),
    })
  }

  /**
   * Waits for the tasks of a step's agent. The teardown comes last, because a queue that is still being drained
   * would start what it pushes.
   */
  async endStep(step: StepNode, end: End): Promise<void> {
    await this.endTasks(step, end)
    await this.#guard(() => this.#tearDown(step, end))
  }

  /** Waits for the tasks of an agent, possibly before its step has ended. */
  async endTasks(step: StepNode, end?: End): Promise<void> {
    const agent = this.#agents.nameOf(step)
    await this.#guard(async () => {
      await this.#withRetries(async () => {
        // The agent may have pushed something just before it ended.
        if (this.#ports.queue?.hasStore() === true) await this.#open()
        if (end === undefined) return
        this.#agents.set(agent, 'idle')
        await this.#saveAgents()
        const store = await this.#opening
        const isCancelled = end.reason === 'cancelled'
        if (store !== undefined) await cancelChildren(store, this.#plan.run, agent, isCancelled)
      })
      await this.waitForTasks(agent === MAIN ? undefined : agent)
    })
  }

  /** Whether any tasks of an agent are running. */
  async hasTasks(step: StepNode): Promise<boolean> {
    const has = await this.#guard(async () => {
      const store = await this.#opening
      return store?.isAwaiting(this.#plan.run, this.#agents.nameOf(step))
    })
    return has === true
  }

  /** Retries teardown pushes of completed steps that were refused in an earlier process. */
  async tearDownAgain(): Promise<void> {
    for (const step of this.#agents.instances()) {
      const { reason, notQueued = [] } = stepAt(this.#ports.state(), step)
      if (reason === undefined || !isComplete(reason) || notQueued.length === 0) continue
      await this.#guard(() => this.#tearDown(step, { reason }))
    }
  }

  /** Waits until all started tasks (or those of an agent in a branch) have ended, or the run is stopped. */
  async waitForTasks(agent?: string): Promise<void> {
    const { stop, control } = this.#ports
    await Promise.all(this.#abandoned.map(({ pool }) => pool.idle(agent)))
    while (!stop.aborted && !control.isStopRequested) {
      // Read each time: the store may have been deleted and replaced.
      const store = await this.#opening
      if (store === undefined) return
      // Tasks end all the time: query the store only when this process runs none.
      await this.#pool?.idle(agent)
      if (this.#pool?.hasLostStore === true) return
      if (await this.#withRetries(() => this.#isIdle(store, agent))) return
    }
    await this.#pool?.idle(agent)
  }

  /** Whether the started tasks have ended; waits briefly if not. */
  async #isIdle(store: QueueStore, agent: string | undefined): Promise<boolean> {
    const { run } = this.#plan
    const mark = await store.mark()
    const isAwaiting = await this.#isAwaiting(store, agent)
    const broken = this.#pool?.broken
    broken?.throwIfAborted()
    if (!isAwaiting) return true
    const { stop } = this.#ports
    const ends = [stop, AbortSignal.timeout(RECHECK_MS), ...(broken === undefined ? [] : [broken])]
    await store.wait(run, mark, AbortSignal.any(ends))
    return false
  }

  async #isAwaiting(store: QueueStore, agent: string | undefined): Promise<boolean> {
    if (agent !== undefined) return store.isAwaiting(this.#plan.run, agent)
    const { isReady, isRunning } = await store.outlook(this.#plan.run)
    return isReady || isRunning
  }

  /** What is left in the queues; undefined if nothing is. */
  left(): Promise<LeftInQueue | undefined> {
    return this.#guard(() => this.#left(), true)
  }

  async #left(): Promise<LeftInQueue | undefined> {
    const { queue, stop, control } = this.#ports
    const { run } = this.#plan
    const opened = await this.#opening
    if (queue === undefined || (opened === undefined && !queue.hasStore())) return undefined
    const store = opened ?? (await queue.open())
    try {
      const { isReady, isRunning } = await store.outlook(run)
      this.#isAnyLeft = (isReady || isRunning) && !stop.aborted && !control.isStopRequested
      return await readLeftInQueue(store, run)
    } finally {
      if (opened === undefined) await store.close()
    }
  }

  /** False if the store was damaged or lost, or started tasks are left; final after `close`. */
  get isSound(): boolean {
    return this.damage === undefined && !this.#isAnyLeft
  }

  /** Tasks that are not started yet. */
  async queued(): Promise<{ queued: number; names: string[] }> {
    const none = { queued: 0, names: [] }
    const found = await this.#guard(async () => {
      const store = await this.#opening
      return store === undefined ? none : queuedIn(store, this.#plan.run)
    })
    return found ?? none
  }

  /** Starts no more tasks and waits for the running ones. */
  async endWork(): Promise<void> {
    // Agents in branches wait for their own tasks only, and a person may have started some of `main`.
    if (this.#agents.inBranches.length > 0) await this.#guard(() => this.waitForTasks())
    this.#ending.abort()
    clearInterval(this.#polling)
    for (const { pool } of this.#abandoned) await pool.end()
    await this.#pool?.end()
  }

  async close(): Promise<void> {
    this.#agents.endAll()
    await this.#guard(() => this.#saveAgents())
    for (const { store } of this.#abandoned) await store.close()
    const store = await this.#opening
    await store?.close()
    const { queue, stop } = this.#ports
    if (queue === undefined || stop.aborted || this.damage !== undefined) return
    // Damage to open files may show only once they are closed.
    if (store !== undefined || queue.hasStore()) await this.#guard(() => queue.verify())
  }

  #withRetries<Result>(work: () => Promise<Result>, ms?: number): Promise<Result> {
    const stop = AbortSignal.any([this.#ports.stop, this.#ending.signal])
    return retryStoreFailures(work, stop, this.#warnings, ms)
  }

  /** A broken queue store is a warning, because the run may not need it. */
  async #guard<Result>(work: () => Promise<Result>, isLast = false): Promise<Result | undefined> {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      if (isStoreLost(error) || (isLast && isStoreFailure(error))) this.damage ??= error
      if (isStoreLost(error)) this.#pool?.abandonStore(error)
      this.#warn(error)
      return undefined
    }
  }

  #warn(error: UserError): void {
    const text = errorWithHint(error).replaceAll('\n', ' ')
    if (!this.#warned.has(text)) this.#emitWarning(text)
  }

  #emitWarning(text: string): void {
    this.#warned.add(text)
    this.#ports.emit({ type: 'warning', text })
  }

  async #saveAgents(): Promise<void> {
    const store = await this.#opening
    if (store !== undefined) await this.#agents.save(store)
  }

  #open(): Promise<QueueStore> {
    this.#opening ??= this.#openStore().catch((error: unknown) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  async #openStore(): Promise<QueueStore> {
    const { queue, state } = this.#ports
    if (queue === undefined || state().record === undefined) {
      throw new UserError(
        'Queues need a run record, and this run has none.',
        'Remove /push and /run from the prompt, or run with a record.',
      )
    }
    const store = await queue.open()
    try {
      await this.#agents.opened(store)
      this.#pool = await this.#startPool(store)
    } catch (error) {
      await store.close()
      throw error
    }
    clearInterval(this.#polling)
    return store
  }

  async #startPool(store: QueueStore): Promise<WorkerPool> {
    const loaded = await import('./worker-pool.ts')
    const pool: WorkerPool = new loaded.WorkerPool(this.#context, store, {
      stepOf: (agent) => this.#agents.stepOf(agent),
      warnings: this.#warnings,
      onLost: (error) => this.#abandon(pool, store, error),
    })
    await pool.start()
    return pool
  }

  /** If the store was deleted, later pushes go to a new one. */
  #abandon(pool: WorkerPool, store: QueueStore, error: UserError): void {
    this.#warn(error)
    this.damage ??= error
    if (pool !== this.#pool || !isStoreGone(error)) return
    this.#abandoned.push({ pool, store })
    this.#pool = undefined
    this.#opening = undefined
    if (!this.#ending.signal.aborted) void this.begin()
  }

  async #tearDown(step: StepNode, { reason }: End): Promise<void> {
    // The step is not over: a resume continues it.
    if (reason === 'interrupted' || reason === 'quota' || reason === 'auth') return
    const ports = this.#ports
    const isSuccess = isComplete(reason)
    const phases = this.#phases.get(keyOf(step)) ?? readPhasesOf(step, this.#plan, ports)
    const { notQueued = [] } = stepAt(ports.state(), step)
    if (!hasTeardown(phases, isSuccess) && notQueued.length === 0) return
    const { tearDownStep } = await import('./prompt-tasks.ts')
    await tearDownStep(step, phases, isSuccess, this.#context, () => this.#open())
  }
}

const POLL_MS = 100

/** In case a change notification was missed. */
const RECHECK_MS = 2000

/** For a step whose agent ran in an earlier process. */
function readPhasesOf(step: StepNode, plan: Plan, { state, readPrompt }: Ports): Phases {
  const { iterations } = stepAt(state(), step)
  const values = builtInVariables(plan, step, Math.max(1, iterations))
  return makeLaunch(step, values, readPrompt).phases
}
