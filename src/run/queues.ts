import { errorWithHint, UserError } from '../base/errors.ts'
import type { End, LeftInQueue } from '../events/schema.ts'
import { stepAt } from '../events/state.ts'
import { isComplete } from '../events/step-state.ts'
import { stepsOf, type Plan, type StepNode } from '../plan/plan.ts'
import { hasSetup } from '../prompt/read-phases.ts'
import type { QueueStore } from '../queue/store.ts'
import { MAIN } from '../queue/task.ts'
import type { QueueDoor } from '../verbs/door.ts'
import { cancelChildren } from './cancel-children.ts'
import { Crew } from './crew.ts'
import { runEnvironment } from './environment.ts'
import type { Family } from './family.ts'
import { leftInQueue, queuedIn } from './left-in-queue.ts'
import { placeOf } from './place.ts'
import { makeDoor } from './queue-door.ts'
import type { Ports } from './ports.ts'
import { isStoreGone, isStoreTrouble } from './store-trouble.ts'
import { hasTeardown, setUp, type Phases } from './prompt-tasks.ts'
import type { Spending } from './spending.ts'
import { Sites } from './sites.ts'
import { readPhasesOf, tearDownStep } from './step-teardown.ts'
import { Worktrees } from './worktree.ts'

/** The queues and inboxes of a run, from the moment somebody needs them. */
export class Queues {
  readonly #plan: Plan
  readonly #ports: Ports
  readonly #family: Family
  readonly #spending: Spending
  #opening: Promise<QueueStore> | undefined
  #crew: Crew | undefined
  /** Those whose store was deleted. */
  readonly #stranded: { readonly crew: Crew; readonly store: QueueStore }[] = []
  #isEnding = false
  #wasOpened = false
  /** Set while the store cannot be used. */
  #trouble: UserError | undefined
  #stopWatching: () => void = () => undefined
  /** The step whose agent is `main`, or was last. */
  #step: StepNode | undefined
  #main: 'running' | 'idle' | undefined
  /** What the last prompt of a step was read as. */
  readonly #phases = new Map<number, Phases>()

  constructor(plan: Plan, ports: Ports, family: Family, spending: Spending) {
    this.#plan = plan
    this.#ports = ports
    this.#family = family
    this.#spending = spending
    const steps = stepsOf(plan.root)
    this.#step = steps[ports.state().at - 1] ?? steps.at(-1)
  }

  /** Takes up what is there, and looks out for an agent that queues something by itself. */
  async begin(): Promise<void> {
    const { queue } = this.#ports
    const open = () => this.#guard(() => this.#open())
    if (queue?.isThere() === true) await open()
    else this.#stopWatching = queue?.onceThere(() => void open()) ?? this.#stopWatching
  }

  /** Before a step's agent starts: what its prompt wants to be queued and started, once. */
  async beginTurn(step: StepNode, phases: Phases): Promise<void> {
    const { run } = this.#plan
    this.#step = step
    this.#phases.set(step.number, phases)
    const { rounds, isSetUp } = stepAt(this.#ports.state(), step.number)
    const isDue = !isSetUp && hasSetup(phases)
    if (isDue) await this.#open()
    const store = await this.#opening
    if (store === undefined) return
    await this.#setMain('running')
    if (!isDue) return
    const done = await setUp(phases, `${run}.${step.id}.setup`, { store, run, agent: MAIN })
    this.#ports.emit({ type: 'phase_ended', ...placeOf(step, rounds), phase: 'setup', ...done })
  }

  /** For an agent of this process that is `main`; undefined where there can be no queues. */
  door(): QueueDoor | undefined {
    const { queue, emit } = this.#ports
    if (queue === undefined) return undefined
    return makeDoor({
      run: this.#plan.run,
      agent: MAIN,
      isThere: () => queue.isThere(),
      open: async () => {
        const store = await this.#open()
        await this.#setMain('running')
        return store
      },
      checkAgent: (name) =>
        queue.subAgent({ name: 'task', options: { agent: name } }, MAIN, this.#step),
      warn: (text) => emit({ type: 'warning', text }),
    })
  }

  /**
   * After a step's agent: its tasks are waited for. What its prompt wants to be queued then comes
   * last, so that no queue that is still worked off takes it along.
   */
  async endStep(step: StepNode, end: End): Promise<void> {
    await this.#guard(async () => {
      // Its agent may have queued something just before its end.
      if (this.#ports.queue?.isThere() === true) await this.#open()
      const store = await this.#opening
      await this.#setMain('idle')
      if (store !== undefined) await cancelChildren(store, this.#plan.run, MAIN)
      await this.settle()
    })
    await this.#guard(() => this.#tearDown(step, end))
  }

  /** What an earlier process could not queue after steps that are over may find a place by now. */
  async tearDownAgain(): Promise<void> {
    for (const step of stepsOf(this.#plan.root)) {
      const { reason, notQueued = [] } = stepAt(this.#ports.state(), step.number)
      if (reason === undefined || !isComplete(reason) || notQueued.length === 0) continue
      await this.#guard(() => this.#tearDown(step, { reason }))
    }
  }

  /** Waits until nothing is started that has not ended; a stop ends it all. */
  async settle(): Promise<void> {
    const { stop, control } = this.#ports
    const { run } = this.#plan
    await Promise.all(this.#stranded.map(({ crew }) => crew.idle()))
    while (!stop.aborted && !control.isStopAsked) {
      // Anew: it may have been deleted, and another one be there.
      const store = await this.#opening
      if (store === undefined) return
      // Something ends every moment: as long as anything is worked at, the store need not be asked.
      await this.#crew?.idle()
      const mark = await store.mark()
      const { isReady, isRunning } = await store.outlook(run)
      const broken = this.#crew?.broken
      broken?.throwIfAborted()
      if (!isReady && !isRunning) return
      const ends = [stop, AbortSignal.timeout(LOOK_MS), ...(broken === undefined ? [] : [broken])]
      await store.wait(run, mark, AbortSignal.any(ends))
    }
    await this.#crew?.idle()
  }

  /** What nobody has started or read. */
  left(): Promise<LeftInQueue | undefined> {
    return this.#guard(() => this.#left())
  }

  async #left(): Promise<LeftInQueue | undefined> {
    const store = await this.#opening
    if (store === undefined) return undefined
    const left = await leftInQueue(store, this.#plan.run)
    this.#trouble = undefined
    return left
  }

  /** False where the store was used and no longer can be: something in it may be lost. */
  get isSound(): boolean {
    return !this.#wasOpened || this.#trouble === undefined
  }

  /** What waits to be started. */
  async queued(): Promise<{ queued: number; names: string[] }> {
    const none = { queued: 0, names: [] }
    const found = await this.#guard(async () => {
      const store = await this.#opening
      return store === undefined ? none : queuedIn(store, this.#plan.run)
    })
    return found ?? none
  }

  /** Nothing more is begun; what is worked at is waited for. */
  async endWork(): Promise<void> {
    this.#isEnding = true
    this.#stopWatching()
    for (const { crew } of this.#stranded) await crew.end()
    await this.#crew?.end()
  }

  async close(): Promise<void> {
    await this.#guard(() => this.#setMain('idle'))
    for (const { store } of this.#stranded) await store.close()
    await (await this.#opening)?.close()
  }

  /** Queues that cannot be used are no reason to end a run that may need none; it is told. */
  async #guard<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      if (isStoreTrouble(error)) this.#trouble = error
      if (isStoreGone(error) && this.#crew !== undefined) this.#crew.leave(error)
      else this.#warn(error)
      return undefined
    }
  }

  #warn(error: UserError): void {
    this.#ports.emit({ type: 'warning', text: errorWithHint(error).replaceAll('\n', ' ') })
  }

  /** Whether anybody acts for `main`. */
  async #setMain(state: 'running' | 'idle'): Promise<void> {
    if (state === this.#main) return
    const store = await this.#opening
    if (store === undefined) return
    await store.setMain(this.#plan.run, state)
    this.#main = state
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
        'This run has no record, and its queues would be in it.',
        'Without /push and /run in its prompt it needs none.',
      )
    }
    const store = await queue.open()
    await store.openRun(this.#plan.run)
    this.#stopWatching()
    const [plan, ports] = [this.#plan, this.#ports]
    const worktrees = new Worktrees(runEnvironment(plan.run, ports), ports)
    const sites = new Sites({ run: plan.run, store, worktrees, queue })
    const [family, spending] = [this.#family, this.#spending]
    const context = { plan, ports, family, spending, store, worktrees, sites }
    const crew = new Crew(
      context,
      () => this.#step,
      (error) => this.#lose(crew, store, error),
    )
    this.#crew = crew
    await crew.start()
    this.#wasOpened = true
    this.#trouble = undefined
    return store
  }

  /** The store was deleted: what is queued from now on is in another one. */
  #lose(crew: Crew, store: QueueStore, error: UserError): void {
    this.#warn(error)
    if (crew !== this.#crew) return
    this.#trouble = error
    this.#stranded.push({ crew, store })
    this.#crew = undefined
    this.#opening = undefined
    this.#main = undefined
    if (!this.#isEnding) void this.begin()
  }

  async #tearDown(step: StepNode, { reason }: End): Promise<void> {
    // It is not over yet: it goes on at another time.
    if (reason === 'interrupted' || reason === 'quota' || reason === 'auth') return
    const [plan, ports] = [this.#plan, this.#ports]
    const isSuccess = isComplete(reason)
    const phases = this.#phases.get(step.number) ?? readPhasesOf(step, plan, ports)
    const { notQueued = [] } = stepAt(ports.state(), step.number)
    if (hasTeardown(phases, isSuccess) || notQueued.length > 0) {
      await tearDownStep(step, phases, isSuccess, { plan, ports, open: () => this.#open() })
    }
  }
}

/** In case a ring was missed. */
const LOOK_MS = 2000
