import { existsSync } from 'node:fs'
import type { QueueStore } from '../../queue/store.ts'
import { STARTED_STATES, type TaskHead } from '../../queue/task.ts'
import type { QueuePort } from '../ports.ts'
import type { FinishedWorktree, TaskWorktree, Worktrees } from './worktree.ts'

interface Dependencies {
  readonly run: string
  readonly store: QueueStore
  readonly worktrees: Worktrees
  readonly queue: QueuePort | undefined
}

interface Open {
  readonly worktree: TaskWorktree
  /** Its own attempt has ended, but other tasks still work in it. */
  isLeft: boolean
}

/** The worktrees in use; each is kept until the last task that works in it has ended. */
export class OpenWorktrees {
  readonly #deps: Dependencies
  /** Keyed by the id of the task that it was created for. */
  readonly #open = new Map<string, Open>()

  constructor(dependencies: Dependencies) {
    this.#deps = dependencies
  }

  add({ id }: TaskHead, worktree: TaskWorktree): void {
    this.#open.set(id, { worktree, isLeft: false })
  }

  of(id: string): TaskWorktree | undefined {
    return this.#open.get(id)?.worktree
  }

  /** At the end of an attempt, before it is reported: what happened to its worktrees. */
  async leave(task: TaskHead, willRetry: boolean): Promise<readonly FinishedWorktree[]> {
    const own = this.#open.get(task.id)
    const left = own === undefined ? [] : [await this.#leaveOwn(task, own)]
    return willRetry ? left : [...left, ...(await this.#finishLeft(task))]
  }

  /** Closes worktrees that two tasks left at the same time, each assuming that the other stayed. */
  async end(): Promise<void> {
    await this.#finishLeft()
  }

  /** Worktrees of earlier attempts that still exist. */
  describeEarlier({ id }: Pick<TaskHead, 'id'>, before: number): string {
    const known = this.#deps.queue?.worktrees(id) ?? []
    return known
      .filter(({ attempt, path }) => attempt < before && existsSync(path))
      .map(
        ({ attempt, path, branch }) =>
          `[forkhestra] The work of attempt ${attempt} is in ${path} (branch ${branch})`,
      )
      .join('\n')
  }

  async #leaveOwn(task: TaskHead, own: Open): Promise<FinishedWorktree> {
    const { worktree } = own
    const { store, run, worktrees } = this.#deps
    if (!tasksWithOpenChildren(await store.list(run)).has(task.id)) {
      this.#open.delete(task.id)
      return worktrees.finish(worktree)
    }
    own.isLeft = true
    const { path, branch } = worktree
    const description = `[forkhestra] Its tasks still work in ${path} (branch ${branch})`
    return { worktree: { path, branch, isKept: true }, description }
  }

  /** Closes worktrees that are no longer in use; `leaving` counts as ended. */
  async #finishLeft(leaving?: TaskHead): Promise<FinishedWorktree[]> {
    const left = [...this.#open].filter(([id, { isLeft }]) => isLeft && id !== leaving?.id)
    if (left.length === 0) return []
    const { store, run, worktrees } = this.#deps
    const tasks = await store.list(run)
    const owners = tasksWithOpenChildren(
      tasks.filter(({ id }) => id !== leaving?.id),
      tasks,
    )
    const done: FinishedWorktree[] = []
    for (const [id, { worktree }] of left) {
      if (owners.has(id)) continue
      this.#open.delete(id)
      done.push(await worktrees.finish(worktree))
    }
    return done
  }
}

/** Ids of tasks with a started descendant; queued ones end together with their parent. */
function tasksWithOpenChildren(tasks: readonly TaskHead[], all = tasks): ReadonlySet<string> {
  const parents = new Map(all.map(({ id, parent }) => [id, parent]))
  const owners = new Set<string>()
  for (const { parent, state } of tasks) {
    if (!STARTED_STATES.includes(state)) continue
    for (let at = parent; at !== null && at !== undefined && !owners.has(at);) {
      owners.add(at)
      at = parents.get(at) ?? null
    }
  }
  return owners
}
