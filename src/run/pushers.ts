import { existsSync } from 'node:fs'
import { UserError } from '../base/errors.ts'
import type { StepNode } from '../plan/plan.ts'
import { MAIN, type TaskHead } from '../queue/task.ts'
import type { CrewContext } from './work-task.ts'
import { cwdIn } from './worktree-plan.ts'

/** An agent of the run as one that queues tasks. */
export interface Pusher {
  readonly name: string
  /** How it runs; undefined for a person. */
  readonly node: StepNode | undefined
}

/** Knows how every agent of a run is run: what one queues runs like it, unless it says otherwise. */
export class Pushers {
  readonly #context: CrewContext
  readonly #main: () => StepNode | undefined
  /** Agents at work, and others that were asked for, by the id of their task. */
  readonly #known = new Map<string, Pusher>()

  constructor(context: CrewContext, main: () => StepNode | undefined) {
    this.#context = context
    this.#main = main
  }

  get main(): StepNode | undefined {
    return this.#main()
  }

  /** Who has queued a task. */
  async of({ parent, depth }: TaskHead): Promise<Pusher> {
    const { store, plan } = this.#context
    if (parent === null || depth <= 1) return { name: MAIN, node: this.main }
    const known = this.#known.get(parent)
    if (known !== undefined) return known
    const task = await store.task(plan.run, parent)
    if (task === undefined) return { name: MAIN, node: this.main }
    // It has ended, maybe with an earlier process.
    const node = await this.nodeFor(task, await this.of(task))
    const pusher = { name: task.name, node: this.#inItsPlace(task, node) }
    this.#known.set(parent, pusher)
    return pusher
  }

  async nodeFor(task: TaskHead, { name, node }: Pusher): Promise<StepNode> {
    return this.#context.ports.queue!.subAgent(task, name, node)
  }

  began({ id, name }: TaskHead, node: StepNode): void {
    this.#known.set(id, { name, node })
  }

  /** How one ran that had a worktree is still asked for: where it was, its tasks are. */
  ended({ id, options }: TaskHead): void {
    if (options.isolation !== 'worktree') this.#known.delete(id)
  }

  /** Whose parent had a worktree never works in the project instead. */
  #inItsPlace({ id, name, options }: TaskHead, node: StepNode): StepNode {
    if (options.isolation !== 'worktree') return node
    const path = this.#context.ports.queue!.worktrees(id).at(-1)?.path
    if (path === undefined) throw new UserError(`The worktree of task ${name} is not known.`)
    const cwd = cwdIn(path, node.cwd)
    if (existsSync(cwd)) return { ...node, cwd }
    throw new UserError(`The worktree ${path}, in which task ${name} has worked, is gone.`)
  }
}
