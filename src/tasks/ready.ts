import { join } from 'node:path'
import { findCycles, findWay } from './cycles.ts'
import { idOfFileName } from './file-name.ts'
import { renderId } from './id.ts'
import { renderCheckout, type Places } from './store/places.ts'
import { listFiles, readTaskFile, type Scan } from './store/scan.ts'
import type { Claim } from './store/state.ts'
import { priorityOf, type Task } from './task.ts'

/** Why a task can be begun now, or what it waits for. */
export interface Readiness {
  readonly task: Task
  readonly isReady: boolean
  readonly reasons: readonly string[]
}

/** More than any task has others waiting for it. */
const MANY = 2 ** 32

/** Judges tasks by their dependencies, their status and the claims of others. */
export class Graph {
  readonly #places: Places
  readonly #scan: Scan
  readonly #claims: ReadonlyMap<string, Claim>
  readonly #isHeld: (id: string) => boolean
  #byId: ReadonlyMap<string, Task> | undefined
  #archived: ReadonlyMap<string, string> | undefined
  #broken: ReadonlySet<string> | undefined
  readonly #archivedStatuses = new Map<string, string | undefined>()

  constructor(
    places: Places,
    scan: Scan,
    /** Those that stand in the way of whoever asks. */
    claims: ReadonlyMap<string, Claim>,
    /** Whether anybody holds a task, also whoever asks. */
    isHeld: (id: string) => boolean = () => true,
  ) {
    this.#places = places
    this.#scan = scan
    this.#claims = claims
    this.#isHeld = isHeld
  }

  has(id: string): boolean {
    return this.statusOf(id) !== undefined
  }

  /** `To Do`, `Done`, …, or undefined where there is no such task. Archived tasks count. */
  statusOf(id: string): string | undefined {
    return this.find(id)?.status ?? this.#archivedStatus(id) ?? this.#brokenStatus(id)
  }

  judge(task: Task): Readiness {
    const reasons: string[] = []
    if (task.status !== 'To Do') reasons.push(this.#statusWords(task))
    for (const id of task.dependencies) {
      const status = this.statusOf(id)
      if (status === 'Done') continue
      const archived = this.#isArchived(id) ? 'archived, ' : ''
      reasons.push(`waits for ${id} (${archived}${status ?? 'missing'})`)
    }
    const claim = this.#claims.get(task.id)
    if (claim !== undefined) reasons.push(claimWords(claim, this.#places))
    return { task, isReady: reasons.length === 0, reasons }
  }

  #statusWords({ id, status }: Task): string {
    return status === 'In Progress' && !this.#isHeld(id)
      ? `In Progress, but nobody here holds it: forge-tasks release ${id}`
      : `status is ${status}`
  }

  /** What a person can do where nothing is ready, in one line. */
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
      ...(isWrong ? ['Mend what tasks wait for: forge-tasks doctor'] : []),
      ...(blocked === undefined
        ? []
        : [
            `Read its notes: forge-tasks view ${blocked}`,
            `open it: forge-tasks edit ${blocked} --status todo`,
          ]),
    ]
    return hints.length === 0 ? undefined : hints.join('; ')
  }

  /** What can be begun now: by priority, then by how much it unblocks, then by age. */
  ready(): Task[] {
    return this.sorted(this.#scan.tasks.filter((task) => this.#isReady(task)))
  }

  /** The same as `judge`, without a reason for each of thousands. */
  #isReady(task: Task): boolean {
    if (task.status !== 'To Do' || this.#claims.has(task.id)) return false
    return task.dependencies.every((id) => this.statusOf(id) === 'Done')
  }

  /** Tasks of a list in the order of `next`: as they come by priority and age, little is left to sort. */
  sorted(tasks: readonly Task[]): Task[] {
    const waiting = this.#countWaiting()
    const ranks = new Map<number, Task[]>()
    for (const task of tasks) {
      const rank = priorityOf(task) * MANY - (waiting.get(task.id) ?? 0)
      const peers = ranks.get(rank)
      if (peers === undefined) ranks.set(rank, [task])
      else peers.push(task)
    }
    return [...ranks].toSorted(([a], [b]) => a - b).flatMap(([, peers]) => peers)
  }

  /** How many open tasks wait for each. */
  #countWaiting(): Map<string, number> {
    const waiting = new Map<string, number>()
    for (const task of this.#scan.tasks) {
      if (task.status === 'Done') continue
      for (const id of task.dependencies) waiting.set(id, (waiting.get(id) ?? 0) + 1)
    }
    return waiting
  }

  /** An open task; archived ones are not asked for here. */
  find(id: string): Task | undefined {
    if (this.#byId === undefined) {
      const byId = new Map<string, Task>()
      for (const task of this.#scan.tasks) byId.set(task.id, task)
      this.#byId = byId
    }
    return this.#byId.get(id)
  }

  /** A way from a task back to itself, where its new dependencies would close one. */
  cycleThrough(id: string, dependencies: readonly string[]): string[] | undefined {
    for (const next of dependencies) {
      const way = findWay(next, id, this.edges)
      if (way !== undefined) return [id, ...way]
    }
    return undefined
  }

  readonly edges = (id: string): readonly string[] => this.find(id)?.dependencies ?? []

  /** A way from a task back to itself over what it is a part of. */
  parentCycleThrough(id: string, parent: string): string[] | undefined {
    const way = findWay(parent, id, (at) => parentsOf(this.find(at)))
    return way === undefined ? undefined : [id, ...way]
  }

  #isArchived(id: string): boolean {
    return this.find(id) === undefined && this.#archive().has(id)
  }

  #brokenStatus(id: string): string | undefined {
    this.#broken ??= new Set(this.#scan.broken.map(({ file }) => idOfName(file) ?? file))
    return this.#broken.has(id) ? 'unreadable' : undefined
  }

  /** Many may wait for the same one, and it has to be read. */
  #archivedStatus(id: string): string | undefined {
    const known = this.#archivedStatuses.get(id)
    if (known !== undefined || this.#archivedStatuses.has(id)) return known
    const status = this.#readArchived(id)
    this.#archivedStatuses.set(id, status)
    return status
  }

  #readArchived(id: string): string | undefined {
    const file = this.#archive().get(id)
    if (file === undefined) return undefined
    const task = readTaskFile(join(this.#places.archive, file), file)
    return 'problem' in task ? 'unreadable' : task.status
  }

  #archive(): ReadonlyMap<string, string> {
    this.#archived ??= new Map(
      listFiles(this.#places.archive).map((file) => [idOfName(file) ?? file, file] as const),
    )
    return this.#archived
  }
}

export function parentsOf(task: { readonly parent?: string | undefined } | undefined): string[] {
  return task?.parent === undefined ? [] : [task.parent]
}

export function claimWords(claim: Claim, places: Places): string {
  const checkout = renderCheckout(claim.root, places)
  if (claim.settled !== undefined) return `${claim.settled} in ${checkout}, not merged here`
  const where = claim.root === places.root ? '' : ` in ${checkout}`
  return `claimed by ${claim.owner}${where}`
}

function idOfName(file: string): string | undefined {
  const id = idOfFileName(file)
  return id === undefined ? undefined : renderId(id)
}
