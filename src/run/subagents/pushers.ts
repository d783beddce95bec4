import { existsSync } from 'node:fs'
import { UserError } from '../../base/errors.ts'
import type { StepNode } from '../../chain/plan/plan.ts'
import { readPhases } from '../../chain/prompts/read-phases.ts'
import { toTask } from '../../queue/client.ts'
import type { QueueStore } from '../../queue/store.ts'
import {
  MAIN,
  stepAgentName,
  type FollowUp,
  type QueuedTask,
  type TaskHead,
} from '../../queue/task.ts'
import type { Context } from '../context.ts'
import { pushesAfter } from './prompt-tasks.ts'
import { cwdIn } from '../worktrees/worktree-plan.ts'
import { isStoreFailure } from './store-failures.ts'

/** An agent that has queued tasks. */
export interface Pusher {
  readonly name: string
  /** Undefined for a user at the command line. */
  readonly node: StepNode | undefined
}

/** Knows how each agent runs, because by default a task runs like the agent that pushed it. */
export class Pushers {
  readonly #context: Context
  readonly #store: QueueStore
  readonly #stepOf: (agent: string) => StepNode | undefined
  /** By task id. */
  readonly #known = new Map<string, Pusher>()
  /** The agents of steps at the top of the tasks, by task id. */
  readonly #tops = new Map<string, string>()

  /** `stepOf` returns the step of the agent of a step. */
  constructor(
    context: Context,
    store: QueueStore,
    stepOf: (agent: string) => StepNode | undefined,
  ) {
    this.#context = context
    this.#store = store
    this.#stepOf = stepOf
  }

  /** The step whose agent has pushed a task; for tasks of other tasks, that of `main`. */
  stepAbove({ run, parent }: TaskHead): StepNode | undefined {
    return this.#stepOf(stepAgentName(run, parent) ?? MAIN)
  }

  /** The step that a task belongs to. */
  async stepOf(task: TaskHead): Promise<StepNode | undefined> {
    return this.#stepOf(await this.topOf(task))
  }

  /** The name of the agent of a step that has pushed a task, or one of its ancestors. */
  async topOf({ run, parent }: TaskHead): Promise<string> {
    const name = stepAgentName(run, parent) ?? this.#tops.get(parent!)
    if (name !== undefined) return name
    const task = await this.#store.task(run, parent!)
    const top = task === undefined ? MAIN : await this.topOf(task)
    this.#tops.set(parent!, top)
    return top
  }

  async of({ run, parent, depth }: TaskHead): Promise<Pusher> {
    const top = stepAgentName(run, parent) ?? (depth <= 1 ? MAIN : undefined)
    if (top !== undefined) return { name: top, node: this.#foundStepOf(top) }
    const known = this.#known.get(parent!)
    if (known !== undefined) return known
    const task = await this.#store.task(run, parent!)
    if (task === undefined) return { name: MAIN, node: this.#stepOf(MAIN) }
    // The parent has ended, maybe in an earlier process.
    const node = await this.nodeFor(task, await this.of(task))
    const pusher = { name: task.name, node: this.#inItsWorktree(task, node) }
    this.#known.set(parent!, pusher)
    return pusher
  }

  #foundStepOf(agent: string): StepNode | undefined {
    const node = this.#stepOf(agent)
    if (node === undefined || node.cwd === this.#context.plan.cwd || existsSync(node.cwd))
      return node
    throw new UserError(`The worktree of '${agent}' is gone: ${node.cwd}`)
  }

  async nodeFor(task: TaskHead, { name, node }: Pusher): Promise<StepNode> {
    return this.#context.ports.queue!.subAgent(task, name, node)
  }

  /** `node` is the step as it actually runs: tasks that it pushes run the same way. */
  began({ id, name }: TaskHead, node: StepNode): void {
    this.#known.set(id, { name, node })
  }

  /** A parent with a worktree is remembered, because its tasks run in that worktree. */
  ended({ id, options }: TaskHead): void {
    if (options.isolation !== 'worktree') this.#known.delete(id)
  }

  /** The tasks that the prompt of a task pushes after its agent. */
  async followUps(task: QueuedTask, isSuccess: boolean): Promise<readonly FollowUp[]> {
    if (!task.prompt.includes('/push')) return []
    try {
      const parent = await this.of(task)
      const node = await this.nodeFor(task, parent).catch((error: unknown) => {
        // If its agent does not exist, the setting of its parent decides.
        if (isRefusal(error)) return parent.node
        throw error
      })
      if (node?.rawPrompt === true) return []
      const phases = readPhases([task.prompt], `the prompt of task ${task.name}`)
      return pushesAfter(phases, isSuccess, `${task.id}.teardown`).map(toTask)
    } catch (error) {
      // A prompt with an error was refused as a whole.
      if (isRefusal(error)) return []
      throw error
    }
  }

  /** Never falls back to the project if the parent had a worktree. */
  #inItsWorktree({ id, name, options }: TaskHead, node: StepNode): StepNode {
    if (options.isolation !== 'worktree') return node
    const path = this.#context.ports.queue!.worktrees(id).at(-1)?.path
    if (path === undefined) throw new UserError(`Cannot find the worktree of task '${name}'.`)
    const cwd = cwdIn(path, node.cwd)
    if (existsSync(cwd)) return { ...node, cwd }
    throw new UserError(`The worktree of task '${name}' is gone: ${path}`)
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof UserError && !isStoreFailure(error)
}
