import { existsSync } from 'node:fs'
import { UserError } from '../../base/errors.ts'
import type { StepNode } from '../../chain/plan/plan.ts'
import { MAIN, type TaskHead } from '../../queue/task.ts'
import type { PoolContext } from './work-task.ts'
import { cwdIn } from '../worktrees/worktree-plan.ts'

/** An agent that has queued tasks. */
export interface Pusher {
  readonly name: string
  /** Undefined for a person at the command line. */
  readonly node: StepNode | undefined
}

/** Knows how each agent runs: by default a task runs like the agent that pushed it. */
export class Pushers {
  readonly #context: PoolContext
  readonly #main: () => StepNode | undefined
  /** By task id. */
  readonly #known = new Map<string, Pusher>()

  constructor(context: PoolContext, main: () => StepNode | undefined) {
    this.#context = context
    this.#main = main
  }

  get main(): StepNode | undefined {
    return this.#main()
  }

  async of({ parent, depth }: TaskHead): Promise<Pusher> {
    const { store, plan } = this.#context
    if (parent === null || depth <= 1) return { name: MAIN, node: this.main }
    const known = this.#known.get(parent)
    if (known !== undefined) return known
    const task = await store.task(plan.run, parent)
    if (task === undefined) return { name: MAIN, node: this.main }
    // The parent has ended, maybe in an earlier process.
    const node = await this.nodeFor(task, await this.of(task))
    const pusher = { name: task.name, node: this.#inItsWorktree(task, node) }
    this.#known.set(parent, pusher)
    return pusher
  }

  async nodeFor(task: TaskHead, { name, node }: Pusher): Promise<StepNode> {
    return this.#context.ports.queue!.subAgent(task, name, node)
  }

  began({ id, name }: TaskHead, node: StepNode): void {
    this.#known.set(id, { name, node })
  }

  /** A parent with a worktree is remembered, because its tasks run in that worktree. */
  ended({ id, options }: TaskHead): void {
    if (options.isolation !== 'worktree') this.#known.delete(id)
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
