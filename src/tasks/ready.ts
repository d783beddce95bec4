import { Archive, idOfName, inArchive } from './archive.ts'
import { findCycles, findPath } from './cycles.ts'
import { countWaiting, findWaiting, makeLinks, NOWHERE, type Links } from './links.ts'
import { renderId } from './id.ts'
import { idInside } from './store/id-inside.ts'
import { renderCheckout, type Places } from './store/places.ts'
import type { Scan } from './store/scan.ts'
import type { Claim } from './store/state.ts'
import type { Task } from './task.ts'
import { rankTasks } from './urgency.ts'

export interface Readiness {
  readonly task: Task
  readonly isReady: boolean
  readonly reasons: readonly string[]
}

/** Up to this many lookups, a linear search is faster than building a map. */
const FEW = 8

/** More than the number of tasks that can depend on one task. */
const MANY = 2 ** 32

/** Decides which tasks are ready, by status, dependencies and claims. */
export class Graph {
  readonly #places: Places
  readonly #scan: Scan
  readonly #claims: ReadonlyMap<string, Claim>
  readonly #isHeld: (id: string) => boolean
  readonly #now: Date
  #links: Links | undefined
  #lookups = 0
  #byId: ReadonlyMap<string, Task> | undefined
  #archive: Archive | undefined
  #broken: ReadonlySet<string> | undefined

  constructor(
    places: Places,
    scan: Scan,
    /** The claims that block the caller. */
    claims: ReadonlyMap<string, Claim>,
    /** Whether anyone holds a task, the caller included. */
    isHeld: (id: string) => boolean = () => true,
    now: Date = new Date(),
  ) {
    this.#places = places
    this.#scan = scan
    this.#claims = claims
    this.#isHeld = isHeld
    this.#now = now
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
    if (claim !== undefined) reasons.push(describeClaim(claim, this.#places))
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
      ).length > 0
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

  /** Sorted by urgency, then by how many tasks each unblocks, then by age. */
  ready(): Task[] {
    const links = this.#getLinks()
    return this.sorted((task, place) => this.#isReady(task, place, links))
  }

  /** As `judge`, but without building the reasons for thousands of tasks. */
  #isReady(task: Task, place: number, { starts, targets }: Links): boolean {
    if (task.status !== 'To Do') return false
    if (this.#claims.size > 0 && this.#claims.has(task.id)) return false
    const first = starts[place]!
    for (let at = first; at < starts[place + 1]!; at++) {
      const target = targets[at]!
      const status =
        target === NOWHERE
          ? this.#getArchive().statusOf(task.dependencies[at - first]!)
          : this.#scan.tasks[target]!.status
      if (status !== 'Done') return false
    }
    return true
  }

  /** Tasks in the order of `next`. They come sorted by priority and age, so grouping by rank is enough. */
  sorted(isWanted: (task: Task, place: number) => boolean): Task[] {
    const { tasks } = this.#scan
    const links = this.#getLinks()
    const waiting = countWaiting(tasks, links)
    const urgency = rankTasks(tasks, links, this.#now)
    const ranks = new Map<number, Task[]>()
    for (let place = 0; place < tasks.length; place++) {
      const task = tasks[place]!
      if (!isWanted(task, place)) continue
      const rank = urgency[place]! * MANY - waiting[place]!
      const peers = ranks.get(rank)
      if (peers === undefined) ranks.set(rank, [task])
      else peers.push(task)
    }
    const order = [...ranks.keys()].toSorted((a, b) => a - b)
    return order.map((rank) => ranks.get(rank)!).flat()
  }

  /** The tasks that depend on a task, which may be archived. */
  waitingFor(id: string): Task[] {
    const { tasks } = this.#scan
    const place = tasks.findIndex((task) => task.id === id)
    if (place === NOWHERE) return tasks.filter(({ dependencies }) => dependencies.includes(id))
    return findWaiting(this.#getLinks(), place).map((each) => tasks[each]!)
  }

  #getLinks(): Links {
    this.#links ??= this.#scan.links ?? makeLinks(this.#scan.tasks)
    return this.#links
  }

  /** Does not look into the archive. */
  find(id: string): Task | undefined {
    if (this.#byId === undefined) {
      this.#lookups += 1
      if (this.#lookups <= FEW) return this.#scan.tasks.find((task) => task.id === id)
      const byId = new Map<string, Task>()
      for (const task of this.#scan.tasks) byId.set(task.id, task)
      this.#byId = byId
    }
    return this.#byId.get(id)
  }

  /** The cycle that new dependencies of a task would close. */
  cycleThrough(id: string, dependencies: readonly string[]): string[] | undefined {
    for (const next of dependencies) {
      const way = findPath(next, id, this.edges)
      if (way !== undefined) return [id, ...way]
    }
    return undefined
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
    return this.find(task.id) === undefined ? inArchive(this.#places, task.file) : task.file
  }

  /** The cycle that a new parent of a task would close. */
  parentCycleThrough(id: string, parent: string): string[] | undefined {
    const way = findPath(parent, id, this.parents)
    return way === undefined ? undefined : [id, ...way]
  }

  #isArchived(id: string): boolean {
    return this.find(id) === undefined && this.#getArchive().has(id)
  }

  #brokenStatus(id: string): string | undefined {
    this.#broken ??= new Set(this.#scan.broken.map(({ file }) => this.#idOfBroken(file)))
    return this.#broken.has(id) ? 'unreadable' : undefined
  }

  #idOfBroken(file: string): string {
    const named = idOfName(file)
    if (named !== undefined) return named
    const id = idInside(this.#places.tasks, file)
    return id === undefined ? file : renderId(id)
  }

  #getArchive(): Archive {
    this.#archive ??= new Archive(this.#places)
    return this.#archive
  }
}

export function parentsOf(task: { readonly parent?: string | undefined } | undefined): string[] {
  return task?.parent === undefined ? [] : [task.parent]
}

export function describeClaim(claim: Claim, places: Places): string {
  const checkout = renderCheckout(claim.root, places)
  if (claim.settled !== undefined) return `${claim.settled} in ${checkout}, not merged here`
  const where = claim.root === places.root ? '' : ` in ${checkout}`
  return `claimed by ${claim.owner}${where}`
}
