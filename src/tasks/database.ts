import { basename } from 'node:path'
import type { Changes } from './text/changes.ts'
import type { Batch } from './batch.ts'
import {
  claimTask,
  nextTask,
  releaseTask,
  type NextTask,
  type Released,
  type ReleaseOptions,
} from './claims/claims.ts'
import { createTasks } from './create.ts'
import { examine } from './doctor/examine.ts'
import type { Finding } from './doctor/check.ts'
import { editTasks, type EditOptions } from './edit.ts'
import { findTask, tryToResolveId } from './find.ts'
import { initTasks } from './init.ts'
import {
  describeEmptyList,
  explainReady,
  listReady,
  listTasks,
  readOverview,
  searchTasks,
  type Filter,
  type Listing,
  type Overview,
} from './list.ts'
import { readCriteria, type Criterion } from './text/criteria.ts'
import type { NewTask } from './text/new-task.ts'
import { renewLeases } from './claims/leases.ts'
import { checkName, findOwner, type Caller, type Owner } from './claims/owner.ts'
import { readConfig } from './store/config.ts'
import { findTaskFolders, taskFoldersIn, type TaskFolders } from './folders.ts'
import { scanTasks, type Broken } from './store/scan.ts'
import type { Readiness } from './ready.ts'
import { archiveTasks, deleteTask, unarchiveTasks } from './archive-tasks.ts'
import type { RunTasks } from './run-tasks.ts'
import { makeStats, type Stats } from './stats.ts'
import type { Task } from './task.ts'
import { undoChange, undoCreate, type Undo } from './undo.ts'
import { makeBrief, readHistory, type Brief } from './view.ts'

export interface OpenOptions {
  /** A folder of the project; defaults to the current one. */
  readonly cwd?: string
  /** Exactly this project folder, in place of the project that contains `cwd`. */
  readonly project?: string
  /** The name of the owner; inside a run the iteration in `env` owns the claims. */
  readonly as?: string | undefined
  readonly env?: Readonly<Record<string, string | undefined>>
}

interface Access extends OpenOptions {
  /** Never renews leases: for programs that look at tasks on their own. */
  readonly isObserver?: boolean
}

interface NextOptions {
  readonly claim?: boolean
  readonly leaseMs?: number | undefined
}

type ChangeOptions = Pick<EditOptions, 'force' | 'onClaimEnded' | 'onDoubt' | 'onChange'>

interface ViewOptions {
  readonly history?: boolean
  /** Called with the files that cannot be read, unless the task is one of them. */
  readonly onBroken?: (broken: readonly Broken[]) => void
  /** Does not renew the leases of the owner. */
  readonly isPolling?: boolean
}

/** The tasks of a project. Ids may be written as `TASK-001`, `task-1` or `1`. */
export class TaskDatabase {
  readonly #folders: TaskFolders
  readonly #owner: Owner
  readonly #isObserver: boolean

  constructor({ cwd, project, as, env = process.env, isObserver = false }: Access = {}) {
    this.#folders =
      project === undefined ? findTaskFolders(cwd ?? process.cwd(), env) : taskFoldersIn(project)
    this.#owner = findOwner(env, as)
    this.#isObserver = isObserver
  }

  /** Throws if an owner cannot have this name. */
  static checkName(as: string | undefined): void {
    checkName(as)
  }

  get folder(): string {
    return this.#folders.tasks
  }

  /** The name in the configuration, or that of the project folder. */
  get name(): string {
    return readConfig(this.#folders).name ?? basename(this.#folders.root)
  }

  /** Writes the configuration unless one exists. */
  init(given: Parameters<typeof initTasks>[1]): ReturnType<typeof initTasks> {
    this.#caller()
    return initTasks(this.#folders, given)
  }

  create(task: NewTask): string {
    return this.createAll([task])[0]!
  }

  /** All or none; `@key` refers to another task of the list. */
  createAll(tasks: readonly NewTask[]): string[] {
    return createTasks(this.#folders, tasks, this.#caller().now)
  }

  /** Creates the tasks of a text with one JSON object per line, all or none; `source` names the text in errors. */
  async createBatch(text: string, source: string): Promise<Batch> {
    const { createBatch } = await import('./batch.ts')
    return createBatch(this.#folders, text, source, this.#caller().now)
  }

  list(filter: Filter = {}): Listing {
    this.#caller()
    return listTasks(this.#folders, filter)
  }

  /** In the order of `next`. */
  ready(filter: Filter = {}): Listing {
    return listReady(this.#folders, filter, this.#caller())
  }

  explain(filter: Filter = {}): readonly Readiness[] {
    return this.explainListing(filter).tasks
  }

  /** As `explain`, with the files that cannot be read. */
  explainListing(filter: Filter = {}): ReturnType<typeof explainReady> {
    return explainReady(this.#folders, filter, this.#caller())
  }

  /** Says whether an empty list means no tasks at all or only none that match. */
  describeEmptyList(filter: Filter): string {
    return describeEmptyList(this.#folders, filter)
  }

  /** The first ready task; if there is none, `explain` says why. */
  next(): Brief | undefined {
    return this.findNext().brief
  }

  /** Claims the first ready task atomically. */
  claimNext(options: { readonly leaseMs?: number } = {}): Brief | undefined {
    return this.findNext({ ...options, claim: true }).brief
  }

  /** The first ready task, or why there is none. */
  findNext({ claim = false, leaseMs }: NextOptions = {}): NextTask {
    return nextTask(this.#folders, { ...this.#caller(), leaseMs }, claim)
  }

  claim(id: string, options: { readonly leaseMs?: number | undefined } = {}): Task {
    return claimTask(this.#folders, id, { ...this.#caller(), ...options })
  }

  release(id: string): Task {
    return this.endClaim(id).task
  }

  /** As `release`, with a message that says what was done. */
  endClaim(id: string, options: Pick<ReleaseOptions, 'onClaimEnded'> = {}): Released {
    return releaseTask(this.#folders, id, { ...options, ...this.#caller() })
  }

  view(id: string, options: ViewOptions = {}): Brief {
    if (options.isPolling !== true) this.#caller()
    const scan = scanTasks(this.#folders)
    const brief = makeBrief(this.#folders, id, scan)
    options.onBroken?.(scan.broken)
    if (options.history !== true) return brief
    return { ...brief, commits: readHistory(this.#folders, brief.path) }
  }

  edit(id: string, changes: Changes, options: ChangeOptions = {}): Task {
    return this.editAll([id], changes, options)[0]!
  }

  /** All or none. */
  editAll(ids: readonly string[], changes: Changes, options: ChangeOptions = {}): Task[] {
    return editTasks(this.#folders, ids, changes, { ...options, ...this.#caller() })
  }

  archive(ids: readonly string[] | 'done', options: { readonly force?: boolean } = {}): string[] {
    return archiveTasks(this.#folders, ids, { ...options, ...this.#caller() })
  }

  /** All or none. */
  unarchive(ids: readonly string[]): string[] {
    this.#caller()
    return unarchiveTasks(this.#folders, ids)
  }

  delete(id: string, options: { readonly force?: boolean } = {}): string {
    return deleteTask(this.#folders, id, { ...options, ...this.#caller() })
  }

  search(words: readonly string[]): Listing {
    this.#caller()
    return searchTasks(this.#folders, words)
  }

  undo(change: Undo): void {
    this.#caller()
    undoChange(this.#folders, change)
  }

  /** Creates a task and returns a function that deletes it again, unless it has changed since. */
  createUndoable(task: NewTask): { readonly id: string; readonly undo: () => void } {
    const id = this.create(task)
    const { path, text } = findTask(this.#folders, id)
    return { id, undo: () => undoCreate(this.#folders, { id, path, text }, this.#caller()) }
  }

  /** Everything that a board shows. Does not renew leases, because a board polls. */
  overview(): Overview {
    return readOverview(this.#folders, this.#owner)
  }

  /** For the process of a run. Loaded on demand, because commands do not need it. */
  async forRun(): Promise<RunTasks> {
    const loaded = await import('./run-tasks.ts')
    return new loaded.RunTasks(this.#folders)
  }

  /** The ids named by these words; skips words that are not ids. */
  resolveIds(words: readonly string[]): string[] {
    return words.flatMap((word) => tryToResolveId(this.#folders, word) ?? [])
  }

  criteria(id: string): Criterion[] {
    this.#caller()
    return readCriteria(findTask(this.#folders, id).text)
  }

  stats(): Stats {
    return makeStats(this.#folders, this.#caller())
  }

  doctor(options: { readonly fix?: boolean } = {}): Finding[] {
    return examine(this.#folders, options.fix === true, this.#caller().now)
  }

  /** Every method starts with this: any command of an owner renews its leases. */
  #caller(): Caller {
    const caller = { owner: this.#owner, now: new Date() }
    if (!this.#isObserver) renewLeases(this.#folders, caller.owner, caller.now)
    return caller
  }
}
