import { basename } from 'node:path'
import type { Leftover } from '../events/schema.ts'
import { Cgroup } from './cgroup.ts'
import { endProcesses, isNoneLeft, isRunning } from './end-processes.ts'
import { hasDeadChild, reap } from './libc.ts'
import { isOwnChild } from './own-children.ts'
import type { Ports } from './ports.ts'
import { readOwnChildren, readProc, readProcesses, type Row } from './process-table.ts'

/** How often the ends of adopted orphans are looked for while an agent runs. */
const REAP_MS = 2000
/** And after the end of one among many. */
const PAUSE_MS = 50

/** The processes of one run: what its agents started, wherever it has gone since. */
export class Family {
  readonly #run: string
  readonly #owns: boolean
  /** Children that were there before the run, as behind a shell's `exec`: they are not ours. */
  readonly #strangers: ReadonlySet<number>
  readonly #agents = new Set<number>()
  readonly #groups: readonly Cgroup[]
  #reapedAt = -PAUSE_MS
  #looking: Promise<number[]> | undefined

  /** Of a run that this process carries out. */
  static async of(run: string, { ownsDescendants, cgroup }: Ports): Promise<Family> {
    const group = await cgroup
    return new Family(run, ownsDescendants, group === undefined ? [] : [group])
  }

  /** Of a run whose process is dead. */
  static left(run: string): Family {
    return new Family(run, false, Cgroup.left().get(run))
  }

  /**
   * `ownsDescendants`: whether everything that descends from this process belongs to the run. `groups`
   * hold processes of the run and nothing else but this one.
   */
  constructor(run: string, ownsDescendants: boolean, groups: readonly Cgroup[] = []) {
    this.#run = run
    this.#groups = groups
    this.#owns = ownsDescendants
    this.#strangers = new Set(ownsDescendants ? readOwnChildren() : [])
  }

  /** Waits for the end of an agent; orphans that end in the meantime are taken note of. */
  async whileAlive<Result>(agent: number, finished: Promise<Result>): Promise<Result> {
    this.#agents.add(agent)
    const timer = this.#owns ? setInterval(() => this.#reapAdopted(), REAP_MS) : undefined
    try {
      return await finished
    } finally {
      clearInterval(timer)
      this.#agents.delete(agent)
      if (this.#owns) this.#reapSoon()
    }
  }

  /** Of many side by side one ends every moment: then not each time. */
  #reapSoon(): void {
    const now = performance.now()
    if (this.#agents.size > 0 && now - this.#reapedAt < PAUSE_MS) return
    this.#reapedAt = now
    this.#reapAdopted()
  }

  /** Whatever runs of it, by name. */
  list(): Leftover[] {
    return this.#find().map(named)
  }

  /** Ends whatever is left of the run, and names it. */
  async end(force: AbortSignal): Promise<Leftover[]> {
    const isGone = () => this.#isGone()
    if (isGone()) return []
    const kill = () => this.#groups.forEach((group) => group.kill())
    const ended = await endAndName(() => this.#find(), force, { isGone, kill })
    if (this.#owns) this.#reapAdopted()
    return ended
  }

  /** Ends what an attempt at a task has left running once its agent has gone, and names it. */
  async endTask(key: string, force: AbortSignal): Promise<Leftover[]> {
    if (!this.#owns || (await this.#adoptedSoon()).length === 0) return []
    if (isNoneLeft(() => this.#orphansOf(key))) return []
    const trees = new Map<number, () => number[]>()
    const find = () => {
      for (const pid of this.#orphansOf(key)) if (!trees.has(pid)) trees.set(pid, treeOf(pid))
      return [...new Set([...trees.values()].flatMap((tree) => tree()))]
    }
    return endAndName(find, force)
  }

  /** Of many side by side several end at the same moment: one look after it is enough for all. */
  #adoptedSoon(): Promise<number[]> {
    this.#looking ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#looking = undefined
        resolve(this.#adopted())
      })
    })
    return this.#looking
  }

  /** Whose parent has ended becomes a child of ours: all others need not be looked at. */
  #orphansOf(key: string): number[] {
    return this.#adopted().filter((pid) => pathIn(pid, TASK_PATH).includes(key))
  }

  #find(): number[] {
    const rows = readProcesses()
    const below = this.#owns ? descendantsOf([process.pid], rows, this.#strangers) : []
    const grouped = this.#groups.flatMap((group) => group.list())
    // Last, because it takes no time: what forks and exits is gone before the others are looked at.
    const adopted = this.#owns ? this.#adopted().filter(isRunning) : []
    return [...new Set([...below, ...bearersOf(this.#run, rows), ...grouped, ...adopted])]
  }

  /** Sure, even of processes that fork and exit so fast that a look may find none of them. */
  #isGone(): boolean {
    if (!this.#owns || process.platform !== 'linux') return isNoneLeft(() => this.#find())
    this.#reapAdopted()
    // Whatever lives, we have adopted it or one above it.
    return this.#adopted().length === 0 && this.#find().length === 0
  }

  /** Adopted orphans that ended would pile up; those that the runtime itself waits for stay. */
  #reapAdopted(): void {
    if (!hasDeadChild()) return
    for (const pid of this.#adopted()) reap(pid)
  }

  #adopted(): number[] {
    return readOwnChildren().filter((pid) => !this.#strangers.has(pid) && !isOwnChild(pid))
  }
}

/** Everything below some processes, without the dead and without the subtrees of strangers. */
function descendantsOf(
  roots: readonly number[],
  rows: readonly Row[],
  strangers: ReadonlySet<number> = new Set(),
): number[] {
  const children = Map.groupBy(rows, (row) => row.parent)
  const found: number[] = []
  const visit = (pid: number) => {
    for (const row of children.get(pid) ?? []) {
      if (strangers.has(row.pid)) continue
      if (!row.isDead) found.push(row.pid)
      visit(row.pid)
    }
  }
  roots.forEach(visit)
  return found
}

/**
 * Finds a process and all that ever descended from it, called as often as needed: a child whose
 * parent has ended in the meantime is still known.
 */
export function treeOf(root: number): () => number[] {
  const known = new Set([root])
  return () => {
    const rows = readProcesses()
    for (const pid of descendantsOf([...known], rows)) known.add(pid)
    return rows.flatMap(({ pid, isDead }) => (known.has(pid) && !isDead ? [pid] : []))
  }
}

/** Everything that was started with this run's id in its environment (Linux), without the dead. */
function bearersOf(run: string, rows: readonly Row[]): number[] {
  if (process.platform !== 'linux') return []
  return rows
    .filter((row) => !row.isDead && row.pid !== process.pid && runsOf(row.pid).includes(run))
    .map((row) => row.pid)
}

/** What is left of dead runs, by one look at all processes; runs of which nothing is are left out. */
export function findLeft(runs: readonly string[]): Map<string, Leftover[]> {
  const found = new Map<string, Set<number>>()
  if (runs.length === 0 || process.platform !== 'linux') return new Map()
  const add = (run: string, pid: number) => {
    if (runs.includes(run)) found.set(run, (found.get(run) ?? new Set()).add(pid))
  }
  for (const { pid, isDead } of readProcesses()) {
    if (!isDead && pid !== process.pid) runsOf(pid).forEach((run) => add(run, pid))
  }
  for (const [run, groups] of Cgroup.left()) {
    groups.forEach((group) => group.list().forEach((pid) => add(run, pid)))
  }
  return new Map([...found].map(([run, pids]) => [run, [...pids].map(named)]))
}

/** The runs, one inside of the other, that a process was started in. */
function runsOf(pid: number): string[] {
  return pathIn(pid, 'FORKHESTRA_RUN_PATH')
}

/** The same for attempts at tasks. */
export const TASK_PATH = 'FORKHESTRA_TASK_PATH'

function pathIn(pid: number, variable: string): string[] {
  const entries = readProc(pid, 'environ')?.split('\0') ?? []
  const path = entries.find((entry) => entry.startsWith(`${variable}=`))
  return path === undefined ? [] : path.slice(variable.length + 1).split(':')
}

/** `sleep 60 (pid 7), make (pid 8, it cannot be ended)`. */
export function leftoverWords(leftovers: readonly Leftover[]): string {
  return leftovers
    .map(({ pid, command, survived }) => {
      const still = survived === true ? ', it cannot be ended' : ''
      return `${command} (pid ${pid}${still})`
    })
    .join(', ')
}

/** For a message: program and first word, because the rest may hold secrets. */
function nameOf(pid: number): string {
  const [program, first] = (readProc(pid, 'cmdline') ?? '').split('\0')
  if (!program) return 'unknown'
  const name = basename(program)
  return first && !first.startsWith('-') && first.length < 60 ? `${name} ${first}` : name
}

function named(pid: number): Leftover {
  return { pid, command: nameOf(pid) }
}

/** Ends what is found, and names it with what could not be ended. */
async function endAndName(
  find: () => number[],
  force: AbortSignal,
  ways?: Parameters<typeof endProcesses>[2],
): Promise<Leftover[]> {
  let found: Leftover[] = []
  const findAndName = () => {
    const pids = find()
    if (found.length === 0) found = pids.map(named)
    return pids
  }
  const survivors = await endProcesses(findAndName, force, ways)
  const ended = found.filter(({ pid }) => !survivors.includes(pid))
  return [...ended, ...survivors.map((pid) => ({ ...named(pid), survived: true }))]
}
