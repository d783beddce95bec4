import { firstCause } from '../../base/first-cause.ts'
import type { StepNode } from '../../chain/plan/plan.ts'
import { endOfTasks, isInBranches, isTaskDriven } from '../../chain/plan/task-verdict.ts'
import type { TaskInWork, Tasks } from '../../chain/plan/tasks.ts'
import type { End } from '../../records/events/schema.ts'
import { isInside, keyOf, keyOfScope } from '../../records/events/tree.ts'
import { stepAt } from '../../records/events/state.ts'
import { currentPlace, nextIteration } from '../place.ts'
import { countTasks } from '../policy/task-check.ts'
import type { Ports } from '../ports.ts'

/** Maximum wait before an agent checks again, because other runs may have changed the tasks. */
const POLL_MS = 1000
const LONGEST_POLL_MS = 5000

/** The agents of a run that build from the same tasks in parallel. */
export class Builders {
  readonly #run: string
  /** The current state of each. */
  readonly #states = new Map<string, 'working' | 'waiting'>()
  /** Running iterations, as their claims name them. */
  readonly #running = new Map<string, { readonly scope: string; readonly iteration: number }>()
  /** Agents whose gates failed although no task was left. */
  readonly #gated = new Set<string>()
  /** How many iterations have started. */
  #started = 0
  #change = Promise.withResolvers<void>()

  constructor(run: string) {
    this.#run = run
  }

  /**
   * Whether an agent may start: `wait` if only others have work, `again` if another one started at the same
   * moment, or the end of its step if no work is left.
   */
  async next(
    step: StepNode,
    ports: Ports,
    hasOwnWork: boolean,
  ): Promise<'go' | 'wait' | 'again' | End> {
    if (!isTaskDriven(step)) return 'go'
    if (hasOwnWork) return this.#start(step, ports)
    const begun = this.#started
    const counts = await countTasks(step, ports)
    // Agents that have just started are about to claim a task.
    const inWork = await ports.tasks.inWork()
    const starting = await this.#countStarting(step, ports)
    const isDue = counts.ready > starting
    const mayFollow = counts.ready > 0 || starting > 0 || isInBranches(counts)
    const end = isDue ? undefined : endOfTasks({ ...counts, inBranches: 0 })
    this.#states.set(keyOf(step), 'waiting')
    if (!isDue && mayFollow && !this.#isStuck(inWork, ports)) return 'wait'
    // Another agent that started meanwhile may take the same task.
    if (isDue && this.#started !== begun) return 'again'
    return end ?? this.#start(step, ports)
  }

  #start(step: StepNode, { state }: Ports): 'go' {
    this.resume(step)
    this.#started += 1
    const { scope } = currentPlace(step, state())
    const { iteration } = nextIteration(stepAt(state(), step))
    this.#running.set(keyOf(step), { scope: scope.join('/'), iteration })
    return 'go'
  }

  /** How many others have started and not claimed a task yet. */
  async #countStarting(step: StepNode, { tasks }: Ports): Promise<number> {
    const others = [...this.#running].filter(([key]) => key !== keyOf(step))
    const claims = others.map(([, { scope, iteration }]) => tasks.hasClaimed(scope, iteration))
    return (await Promise.all(claims)).filter((hasClaimed) => !hasClaimed).length
  }

  /** A failing gate means that there is work, even without a task. */
  gateFailed(step: StepNode): void {
    this.#gated.add(keyOf(step))
  }

  hasFailedGate(step: StepNode): boolean {
    return this.#gated.has(keyOf(step))
  }

  /**
   * Whether all agents wait for each other: the run holds no task, and nothing else works in an open branch.
   */
  #isStuck(inWork: readonly TaskInWork[], { state }: Ports): boolean {
    const { branches = [], steps } = state()
    const waiting = steps.filter(({ key }) => this.#states.get(key) === 'waiting')
    const isWaiting = (key: string) =>
      waiting.some((step) => step.key === key || isInside(step, key))
    return (
      waiting.length === this.#states.size &&
      !inWork.some(({ holder }) => holder?.run === this.#run) &&
      branches.every(({ isOpen, scope }) => !isOpen || isWaiting(keyOfScope(scope)))
    )
  }

  /** Marks a step as working until the returned function is called. */
  enter(step: StepNode): () => void {
    if (!isTaskDriven(step)) return () => undefined
    const key = keyOf(step)
    this.#states.set(key, 'working')
    return () => {
      this.#states.delete(key)
      this.changed()
    }
  }

  /** Runs the agent of a step. */
  async work<Result>(step: StepNode, run: () => Promise<Result>): Promise<Result> {
    try {
      return await run()
    } finally {
      this.#running.delete(keyOf(step))
      this.#gated.delete(keyOf(step))
      this.changed()
    }
  }

  /** Call when tasks may have become ready for others. */
  changed(): void {
    this.#change.resolve()
    this.#change = Promise.withResolvers()
  }

  /** Waits until something may have changed. */
  async wait(stop: AbortSignal, times: number): Promise<void> {
    const poll = Math.min(POLL_MS * (times + 1), LONGEST_POLL_MS)
    await firstCause({ change: this.#change.promise, poll, stop })
  }

  /** Marks a step that waited as working again. */
  resume(step: StepNode): void {
    if (this.#states.has(keyOf(step))) this.#states.set(keyOf(step), 'working')
  }
}

/** The tasks as a branch sees them: work in other branches of the run may lead to more. */
export function tasksBeside(tasks: Tasks, run: string, { state }: Pick<Ports, 'state'>): Tasks {
  const isOurs = ({ root, holder }: TaskInWork) => {
    if (holder !== undefined) return holder.run === run
    const { branches = [] } = state()
    return branches.some(
      ({ isOpen, path }) => isOpen && (root === path || root.startsWith(`${path}/`)),
    )
  }
  return {
    ...tasks,
    async count(before) {
      const counts = await tasks.count(before)
      if (counts.ready > 0) return counts
      return { ...counts, inBranches: (await tasks.inWork()).filter(isOurs).length }
    },
  }
}
