import { branchAt } from '../../records/events/branch-state.ts'
import { groupAt, type RunState } from '../../records/events/state.ts'
import { keyOf } from '../../records/events/tree.ts'
import { stepsOf, type StepNode } from '../../chain/plan/plan.ts'
import type { QueueStore, StepAgent } from '../../queue/store.ts'
import { MAIN } from '../../queue/task.ts'
import { agentNameOf, agentsInBranches } from '../agent-names.ts'
import type { Context } from '../context.ts'
import { cwdIn } from '../worktrees/worktree-plan.ts'

type AgentState = StepAgent['state']

/** The agents of steps: `main`, plus one per step and copy in parts of the chain that run in parallel. */
export class StepAgents {
  readonly #context: Context
  /** The steps whose agents are working, or worked last. */
  readonly #steps = new Map<string, StepNode>()
  readonly #states = new Map<string, AgentState>()
  /** The states in the store, including pending writes. */
  readonly #stored = new Map<string, AgentState>()

  constructor(context: Context) {
    this.#context = context
    const { plan, ports } = context
    const steps = stepsOf(plan.root)
    const last = steps[ports.state().at - 1] ?? steps.at(-1)
    if (last === undefined) return
    const isLast = (step: StepNode) => step.number === last.number && this.nameOf(step) === MAIN
    this.#steps.set(MAIN, this.instances().find(isLast) ?? last)
  }

  /** The names of those in branches. */
  get inBranches(): readonly string[] {
    return [...agentsInBranches(this.#context.plan).values()]
  }

  nameOf(step: StepNode): string {
    return agentNameOf(this.#context.plan, step)
  }

  /** The step that an agent is working on, or worked on last, possibly in an earlier process. */
  stepOf(name: string): StepNode | undefined {
    return this.#steps.get(name) ?? this.instances().find((step) => this.nameOf(step) === name)
  }

  /** All copies of the steps, in their current rounds. */
  instances(): StepNode[] {
    const { plan, ports } = this.#context
    const nodes = [...stepsOf(plan.root), ...plan.recoveries]
    const state = ports.state()
    return state.steps.flatMap(({ key, list, number }) => {
      const node = nodes.find((each) => each.number === number)
      if (node === undefined) return []
      const [id = node.id, copy] = key.slice(list === '' ? 0 : list.length + 1).split('/')
      const within = roundsIn(list, state)
      const place = { id, within, ...(copy === undefined ? {} : { copy: Number(copy.slice(1)) }) }
      return [inItsWorktree({ ...node, ...place }, state)]
    })
  }

  begin(step: StepNode): void {
    const name = this.nameOf(step)
    this.#steps.set(name, step)
    this.set(name, 'running')
  }

  set(name: string, state: AgentState): void {
    this.#states.set(name, state)
    // When others start, `main` is not working.
    if (!this.#states.has(MAIN)) this.#states.set(MAIN, 'idle')
  }

  endAll(): void {
    this.#states.set(MAIN, 'idle')
    for (const name of this.#states.keys()) this.#states.set(name, 'idle')
  }

  /** Prepares a store that has been opened. Until its next step, `main` keeps its state. */
  async opened(store: QueueStore): Promise<void> {
    const { run } = this.#context.plan
    this.#stored.clear()
    await store.openRun(run, this.inBranches)
    if (this.inBranches.length === 0) return
    for (const name of this.inBranches) if (!this.#states.has(name)) this.#states.set(name, 'idle')
    for (const { name, state } of await store.stepAgents(run)) this.#stored.set(name, state)
    await this.save(store)
  }

  /** Records in the store which agents are working. */
  async save(store: QueueStore): Promise<void> {
    const changed = [...this.#states].filter(([name, state]) => this.#stored.get(name) !== state)
    await Promise.all(changed.map(([name, state]) => this.#write(name, state, store)))
  }

  async #write(name: string, state: AgentState, store: QueueStore): Promise<void> {
    // Set before the write, so that a later change is not mistaken for one that is already stored.
    this.#stored.set(name, state)
    try {
      await store.setStepAgent(this.#context.plan.run, name, state)
    } catch (error) {
      this.#stored.delete(name)
      throw error
    }
  }
}

/** The scope of a list in the current rounds of its groups. */
function roundsIn(list: string, state: RunState): string[] {
  const parts = list === '' ? [] : list.split('/')
  return parts.flatMap((part, index) => {
    const { round = 1 } = groupAt(state, parts.slice(0, index + 1).join('/')) ?? {}
    return round > 1 ? [part, `r${round}`] : [part]
  })
}

/** A step of an earlier process works in the worktree of its branch, if there is one. */
function inItsWorktree(step: StepNode, state: RunState): StepNode {
  const parts = keyOf(step).split('/')
  // The whole chain may also be a branch.
  const around = [...parts.map((_, index) => parts.slice(0, parts.length - index)), []]
  const branch = around.map((scope) => branchAt(state, scope)).find((found) => found !== undefined)
  return branch === undefined ? step : { ...step, cwd: cwdIn(branch.path, step.cwd) }
}
