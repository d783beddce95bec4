import { existsSync } from 'node:fs'
import type { QueueStore } from '../queue/store.ts'
import type { TaskHead } from '../queue/task.ts'
import type { QueuePort } from './ports.ts'
import type { Left, Site, Worktrees } from './worktree.ts'

interface Surroundings {
  readonly run: string
  readonly store: QueueStore
  readonly worktrees: Worktrees
  readonly queue: QueuePort | undefined
}

interface Open {
  readonly site: Site
  /** Its own attempt is over, and others still work in it. */
  isLeft: boolean
}

/** Which worktrees are worked in: each stays until the last one that is at work in it is over. */
export class Sites {
  readonly #around: Surroundings
  /** By the id of the task that they were made for. */
  readonly #open = new Map<string, Open>()
  #isAnyLetGo = false

  constructor(around: Surroundings) {
    this.#around = around
  }

  hold({ id }: TaskHead, site: Site): void {
    this.#open.set(id, { site, isLeft: false })
  }

  siteOf(id: string): Site | undefined {
    return this.#open.get(id)?.site
  }

  /** Somebody ends although tasks of its own go on. */
  letGo(): void {
    this.#isAnyLetGo = true
  }

  /** At the end of an attempt, before it is told: what has become of the worktrees it was in. */
  async leave(task: TaskHead, isAgain: boolean): Promise<readonly Left[]> {
    const own = this.#open.get(task.id)
    const left = own === undefined ? [] : [await this.#leaveOwn(task, own)]
    return isAgain ? left : [...left, ...(await this.#finishLeft(task))]
  }

  /** Finishes what the last ones to leave took each other to be still in. */
  async end(): Promise<void> {
    await this.#finishLeft()
  }

  /** Worktrees of earlier attempts at a task that are still there, in words. */
  earlier({ id }: Pick<TaskHead, 'id'>, before: number): string {
    const known = this.#around.queue?.worktrees(id) ?? []
    return known
      .filter(({ attempt, path }) => attempt < before && existsSync(path))
      .map(
        ({ attempt, path, branch }) =>
          `[forkhestra] The work of attempt ${attempt} is in ${path}, of the branch ${branch}`,
      )
      .join('\n')
  }

  async #leaveOwn(task: TaskHead, own: Open): Promise<Left> {
    const { site } = own
    if (!(await this.#isAnyBelow(task))) {
      this.#open.delete(task.id)
      return this.#around.worktrees.finish(site)
    }
    own.isLeft = true
    const { path, branch } = site
    const words = `[forkhestra] Its tasks still work in ${path}, of the branch ${branch}`
    return { worktree: { path, branch, isKept: true }, words }
  }

  async #isAnyBelow({ id, name }: TaskHead): Promise<boolean> {
    const { store, run } = this.#around
    const { isReady, isRunning } = await store.outlook(run, { name, task: id })
    if (isReady || isRunning || !this.#isAnyLetGo) return isReady || isRunning
    return ownersOf(await store.list(run)).has(id)
  }

  /** Of those whose own attempt is over; `leaving` counts as gone. */
  async #finishLeft(leaving?: TaskHead): Promise<Left[]> {
    if (this.#open.size === 0) return []
    const left = [...this.#open].filter(([id, { isLeft }]) => isLeft && id !== leaving?.id)
    if (left.length === 0) return []
    const { store, run, worktrees } = this.#around
    const tasks = await store.list(run)
    const owners = ownersOf(
      tasks.filter(({ id }) => id !== leaving?.id),
      tasks,
    )
    const done: Left[] = []
    for (const [id, { site }] of left) {
      if (owners.has(id)) continue
      this.#open.delete(id)
      done.push(await worktrees.finish(site))
    }
    return done
  }
}

/** Ids of all that are above somebody who has begun and not ended; what is only queued ends with them. */
function ownersOf(tasks: readonly TaskHead[], all = tasks): ReadonlySet<string> {
  const parents = new Map(all.map(({ id, parent }) => [id, parent]))
  const owners = new Set<string>()
  for (const { parent, state } of tasks) {
    if (state !== 'ready' && state !== 'running') continue
    for (let at = parent; at !== null && at !== undefined && !owners.has(at);) {
      owners.add(at)
      at = parents.get(at) ?? null
    }
  }
  return owners
}
