import { join } from 'node:path'
import { findWay } from './cycles.ts'
import { idOfFileName } from './file-name.ts'
import { renderId } from './id.ts'
import type { Places } from './store/places.ts'
import { listFiles, readTaskFile, type Broken, type Scan } from './store/scan.ts'
import type { Claim } from './store/state.ts'
import { byAge, priorityOf, type Task } from './task.ts'

/** Why a task can be begun now, or what it waits for. */
export interface Readiness {
  readonly task: Task
  readonly isReady: boolean
  readonly reasons: readonly string[]
}

/** Judges tasks by their dependencies, their status and the claims of others. */
export class Graph {
  readonly #tasks: ReadonlyMap<string, Task>
  readonly #places: Places
  readonly #broken: readonly Broken[]
  readonly #claims: ReadonlyMap<string, Claim>
  #archived: ReadonlyMap<string, string> | undefined
  readonly #waiting = new Map<string, number>()

  constructor(
    places: Places,
    { tasks, broken }: Scan,
    /** Those that stand in the way of whoever asks. */
    claims: ReadonlyMap<string, Claim>,
  ) {
    this.#places = places
    this.#broken = broken
    this.#claims = claims
    this.#tasks = new Map(tasks.map((task) => [task.id, task]))
    for (const task of tasks) {
      if (task.status === 'Done') continue
      for (const id of task.dependencies) this.#waiting.set(id, (this.#waiting.get(id) ?? 0) + 1)
    }
  }

  has(id: string): boolean {
    return this.statusOf(id) !== undefined
  }

  /** `To Do`, `Done`, …, or undefined where there is no such task. Archived tasks count. */
  statusOf(id: string): string | undefined {
    return this.#tasks.get(id)?.status ?? this.#archivedStatus(id) ?? this.#brokenStatus(id)
  }

  judge(task: Task): Readiness {
    const reasons: string[] = []
    if (task.status !== 'To Do') reasons.push(`status is ${task.status}`)
    for (const id of task.dependencies) {
      const status = this.statusOf(id)
      if (status !== 'Done') reasons.push(`waits for ${id} (${status ?? 'missing'})`)
    }
    const claim = this.#claims.get(task.id)
    if (claim !== undefined) reasons.push(claimWords(claim, this.#places))
    return { task, isReady: reasons.length === 0, reasons }
  }

  /** What can be begun now: by priority, then by how much it unblocks, then by age. */
  ready(): Task[] {
    return this.sorted([...this.#tasks.values()].filter((task) => this.judge(task).isReady))
  }

  sorted(tasks: readonly Task[]): Task[] {
    const unblocks = (task: Task) => this.#waiting.get(task.id) ?? 0
    return tasks.toSorted(
      (a, b) => priorityOf(a) - priorityOf(b) || unblocks(b) - unblocks(a) || byAge(a, b),
    )
  }

  /** A way from a task back to itself, where its new dependencies would close one. */
  cycleThrough(id: string, dependencies: readonly string[]): string[] | undefined {
    for (const next of dependencies) {
      const way = findWay(next, id, this.edges)
      if (way !== undefined) return [id, ...way]
    }
    return undefined
  }

  readonly edges = (id: string): readonly string[] => this.#tasks.get(id)?.dependencies ?? []

  #brokenStatus(id: string): string | undefined {
    const isThere = this.#broken.some(({ file }) => idOfName(file) === id)
    return isThere ? 'unreadable' : undefined
  }

  #archivedStatus(id: string): string | undefined {
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

export function claimWords(claim: Claim, places: Places): string {
  if (claim.settled !== undefined) return `${claim.settled} in ${claim.root}, not merged here`
  const where = claim.root === places.root ? '' : ` in ${claim.root}`
  return `claimed by ${claim.owner}${where}`
}

function idOfName(file: string): string | undefined {
  const id = idOfFileName(file)
  return id === undefined ? undefined : renderId(id)
}
