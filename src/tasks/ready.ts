import { Archive, inArchive } from './archive.ts'
import { findCycles } from './cycles.ts'
import { idOfFileName } from './file-name.ts'
import { renderCheckout, type TaskFolders } from './folders.ts'
import { idInside, type Scan } from './store/scan.ts'
import type { Claim } from './store/state-shape.ts'
import type { Task } from './task.ts'
import { rankTasks } from './urgency.ts'

export interface Readiness {
  readonly task: Task
  readonly isReady: boolean
  readonly reasons: readonly string[]
}

/** More than the number of tasks that can depend on one task. */
const MANY = 2 ** 32

/** Decides which tasks are ready, by status, dependencies and claims. */
export class Graph {
  readonly #folders: TaskFolders
  readonly #scan: Scan
  readonly #claims: ReadonlyMap<string, Claim>
  readonly #isHeld: (id: string) => boolean
  readonly #now: Date
  readonly #byId: ReadonlyMap<string, Task>
  #archive: Archive | undefined
  #broken: ReadonlySet<string | undefined> | undefined

  constructor(
    folders: TaskFolders,
    scan: Scan,
    /** The claims that block the caller. */
    claims: ReadonlyMap<string, Claim> = new Map(),
    /** Whether anyone holds a task, the caller included. */
    isHeld: (id: string) => boolean = () => true,
    now: Date = new Date(),
  ) {
    this.#folders = folders
    this.#scan = scan
    this.#claims = claims
    this.#isHeld = isHeld
    this.#now = now
    this.#byId = new Map(scan.tasks.map((task) => [task.id, task]))
  }

  has(id: string): boolean {
    return this.statusOf(id) !== undefined
  }

  /** `To Do`, `Done`, …; undefined if the task does not exist. Includes the archive. */
  statusOf(id: string): string | undefined {
    return this.find(id)?.status ?? this.#getArchive().statusOf(id) ?? this.#brokenStatus(id)
  }

  judge(task: Task): Readiness {
    const reasons: string[] = []
    if (task.status !== 'To Do') reasons.push(this.#statusWords(task))
    for (const id of task.dependencies) {
      if (this.statusOf(id) === 'Done') continue
      reasons.push(`waits for ${id} ${this.#whyNotDone(id, task.id)}`)
    }
    const claim = this.#claims.get(task.id)
    if (claim !== undefined) reasons.push(describeClaim(claim, this.#folders))
    return { task, isReady: reasons.length === 0, reasons }
  }

  /** An archived task is never started, so a person has to act. */
  #whyNotDone(id: string, waiting: string): string {
    const status = this.statusOf(id) ?? 'missing'
    if (!this.#isArchived(id)) return `(${status})`
    const words = `(archived, ${status})`
    if (status === 'unreadable') return words
    const command = `forge-tasks edit ${waiting} --remove-dep ${id}`
    return `${words}: run "forge-tasks unarchive ${id}" or "${command}"`
  }

  #statusWords({ id, status }: Task): string {
    return status === 'In Progress' && !this.#isHeld(id)
      ? `In Progress, but not claimed here: forge-tasks release ${id}`
      : `status is ${status}`
  }

  /** One line that says what to do if nothing is ready. */
  advise(tasks: readonly Task[]): string | undefined {
    const blocked = tasks.find(({ status }) => status === 'Blocked')?.id
    const isMissing = (id: string) => [undefined, 'unreadable'].includes(this.statusOf(id))
    const isWrong =
      tasks.some(({ dependencies }) => dependencies.some(isMissing)) ||
      findCycles(
        tasks.map(({ id }) => id),
        this.edges,
      ).some(() => true)
    const hints = [
      ...(isWrong ? ['Check the dependencies: forge-tasks doctor'] : []),
      ...(blocked === undefined
        ? []
        : [
            `Read its notes: forge-tasks view ${blocked}`,
            `reopen it: forge-tasks edit ${blocked} --status todo`,
          ]),
    ]
    return hints.length === 0 ? undefined : hints.join('; ')
  }

  ready(): Task[] {
    return this.sorted((task) => this.#isReady(task))
  }

  #isReady({ id, status, dependencies }: Task): boolean {
    if (status !== 'To Do' || this.#claims.has(id)) return false
    return dependencies.every((each) => this.statusOf(each) === 'Done')
  }

  /** Open tasks in the order of `next`: by urgency, then by how many tasks each unblocks, then by age. */
  sorted(isWanted: (task: Task) => boolean): Task[] {
    const { tasks } = this.#scan
    const urgency = rankTasks(tasks, this.#now)
    const waiting = new Map<string, number>()
    for (const { status, dependencies } of tasks) {
      if (status === 'Done') continue
      for (const id of dependencies) waiting.set(id, (waiting.get(id) ?? 0) + 1)
    }
    // They come sorted by priority and age, so grouping by rank is enough.
    const ranks = Map.groupBy(
      tasks.filter((task) => task.status !== 'Done' && isWanted(task)),
      ({ id }) => urgency.get(id)! * MANY - (waiting.get(id) ?? 0),
    )
    return [...ranks].toSorted(([a], [b]) => a - b).flatMap(([, peers]) => peers)
  }

  /** The tasks that depend on a task, which may be archived. */
  waitingFor(id: string): Task[] {
    return this.#scan.tasks.filter(({ dependencies }) => dependencies.includes(id))
  }

  /** Does not look into the archive. */
  find(id: string): Task | undefined {
    return this.#byId.get(id)
  }

  readonly edges = (id: string): readonly string[] => this.findUndone(id)?.dependencies ?? []

  readonly parents = (id: string): readonly string[] => parentsOf(this.findUndone(id))

  /** Includes tasks that were archived before they were Done, because they can close a cycle. */
  findUndone(id: string): Task | undefined {
    const open = this.find(id)
    if (open !== undefined) return open
    const archived = this.#getArchive().find(id)
    return archived?.status === 'Done' ? undefined : archived
  }

  /** Relative to the folder of the tasks. */
  fileOf(task: Task): string {
    return this.find(task.id) === undefined ? inArchive(this.#folders, task.file) : task.file
  }

  #isArchived(id: string): boolean {
    return this.find(id) === undefined && this.#getArchive().has(id)
  }

  #brokenStatus(id: string): string | undefined {
    const idOf = (file: string) => idOfFileName(file) ?? idInside(this.#folders.tasks, file)
    this.#broken ??= new Set(this.#scan.broken.map(({ file }) => idOf(file)))
    return this.#broken.has(id) ? 'unreadable' : undefined
  }

  #getArchive(): Archive {
    this.#archive ??= new Archive(this.#folders)
    return this.#archive
  }
}

export function parentsOf(task: { readonly parent?: string | undefined } | undefined): string[] {
  return task?.parent === undefined ? [] : [task.parent]
}

export function describeClaim(claim: Claim, folders: TaskFolders): string {
  const checkout = renderCheckout(claim.root, folders)
  if (claim.settled !== undefined) return `${claim.settled} in ${checkout}, not merged here`
  const where = claim.root === folders.root ? '' : ` in ${checkout}`
  return `claimed by ${claim.owner}${where}`
}
