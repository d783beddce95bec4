import type { Changes } from './text/changes.ts'
import { claimTask, nextTask, releaseTask } from './claims/claims.ts'
import { createTasks } from './create.ts'
import { examine } from './doctor/examine.ts'
import type { Finding } from './doctor/finding.ts'
import { editTasks } from './edit.ts'
import { readHistory } from './history.ts'
import {
  explainReady,
  listReady,
  listTasks,
  type Asking,
  type Filter,
  type Listing,
} from './list.ts'
import type { NewTask } from './text/new-task.ts'
import { keepLeases } from './claims/leases.ts'
import { findOwner, type Owner } from './claims/owner.ts'
import { findPlaces, type Places } from './store/places.ts'
import type { Readiness } from './ready.ts'
import { searchTasks } from './search.ts'
import { deleteTask } from './delete.ts'
import { archiveTasks, unarchiveTasks } from './shelve.ts'
import { countTasks, type Stats } from './stats.ts'
import { copyTask, type Task } from './task.ts'
import { makeBrief, type Brief } from './view.ts'

export interface OpenOptions {
  /** A folder of the project; the current one if absent. */
  readonly cwd?: string
  /** On whose behalf; inside of a run it is the iteration that the environment tells of. */
  readonly as?: string
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** The tasks of a project, with the operations of the command line. Ids are given as people type them. */
export class TaskDatabase {
  readonly #places: Places
  readonly #owner: Owner

  constructor({ cwd = process.cwd(), as, env = process.env }: OpenOptions = {}) {
    this.#places = findPlaces(cwd, env)
    this.#owner = findOwner(env, as)
  }

  /** Where the files are. */
  get folder(): string {
    return this.#places.tasks
  }

  create(task: NewTask): string {
    return this.createAll([task])[0]!
  }

  /** All or none; `@key` refers to another one of them. */
  createAll(tasks: readonly NewTask[]): string[] {
    return createTasks(this.#places, tasks, this.#asking().now)
  }

  list(filter: Filter = {}): Listing {
    this.#asking()
    return copyListing(listTasks(this.#places, filter))
  }

  /** What can be begun now, in the order of `next`. */
  ready(filter: Filter = {}): Listing {
    return copyListing(listReady(this.#places, filter, this.#asking()))
  }

  explain(filter: Filter = {}): readonly Readiness[] {
    const { tasks } = explainReady(this.#places, filter, this.#asking())
    return tasks.map(({ task, ...why }) => ({ task: copyTask(task), ...why }))
  }

  /** The first ready task, or undefined and, from `explain`, why there is none. */
  next(): Brief | undefined {
    return this.#brief(nextTask(this.#places, this.#asking(), false).task)
  }

  /** The same, taken: nobody else gets it. */
  claimNext(options: { readonly leaseMs?: number } = {}): Brief | undefined {
    return this.#brief(nextTask(this.#places, { ...this.#asking(), ...options }, true).task)
  }

  claim(id: string, options: { readonly leaseMs?: number } = {}): Task {
    return claimTask(this.#places, id, { ...this.#asking(), ...options })
  }

  release(id: string): Task {
    return releaseTask(this.#places, id, this.#asking()).task
  }

  view(id: string, options: { readonly history?: boolean } = {}): Brief {
    this.#asking()
    const brief = makeBrief(this.#places, id)
    if (options.history !== true) return brief
    return { ...brief, commits: readHistory(this.#places, brief.path) }
  }

  edit(id: string, changes: Changes, options: { readonly force?: boolean } = {}): Task {
    return this.editAll([id], changes, options)[0]!
  }

  /** All or none. */
  editAll(
    ids: readonly string[],
    changes: Changes,
    options: { readonly force?: boolean } = {},
  ): Task[] {
    return editTasks(this.#places, ids, changes, { ...options, ...this.#asking() })
  }

  archive(ids: readonly string[] | 'done', options: { readonly force?: boolean } = {}): string[] {
    return archiveTasks(this.#places, ids, { ...options, ...this.#asking() })
  }

  /** Brings tasks back from the archive, all or none. */
  unarchive(ids: readonly string[]): string[] {
    this.#asking()
    return unarchiveTasks(this.#places, ids)
  }

  delete(id: string, options: { readonly force?: boolean } = {}): string {
    return deleteTask(this.#places, id, { ...options, ...this.#asking() })
  }

  search(words: readonly string[]): Listing {
    this.#asking()
    return copyListing(searchTasks(this.#places, words))
  }

  stats(): Stats {
    return countTasks(this.#places, this.#asking())
  }

  doctor(options: { readonly fix?: boolean } = {}): Finding[] {
    return examine(this.#places, options.fix === true, this.#asking().now)
  }

  /** Whoever asks is at work: each method begins with it. */
  #asking(): Asking {
    const asking = { owner: this.#owner, now: new Date() }
    keepLeases(this.#places, asking.owner, asking.now)
    return asking
  }

  #brief(task: Task | undefined): Brief | undefined {
    return task === undefined ? undefined : makeBrief(this.#places, task.id)
  }
}

/** With all their fields: a program may print them, or compare them. */
function copyListing({ tasks, broken }: Listing): Listing {
  return { tasks: tasks.map(copyTask), broken }
}
