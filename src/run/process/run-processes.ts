import { readlinkSync } from 'node:fs'
import { basename } from 'node:path'
import { tryOr } from '../../base/errors.ts'
import { shorten } from '../../base/shorten.ts'
import type { Leftover } from '../../records/events/schema.ts'
import { Cgroup } from '../../base/linux/cgroup.ts'
import { MARK_FD } from './child.ts'
import { endProcesses, isNoneLeft, isRunning, stopAndKill } from './end-processes.ts'
import { childrenAside, hasDeadChild, isOwnChild, reap } from '../../base/linux/children.ts'
import type { Ports } from '../ports.ts'
import {
  readOwnChildren,
  isIn,
  readProc,
  readProcesses,
  readVariable,
  type Row,
} from '../../base/linux/process-table.ts'

/** How often adopted orphans are reaped while an agent runs. */
const REAP_MS = 2000

/** The processes of one run: everything that its agents started, daemons included. */
export class RunProcesses {
  readonly #run: string
  readonly #owns: boolean
  /** Children that existed before the run, for example after `exec` in a shell; not part of the run. */
  readonly #earlierChildren: ReadonlySet<number>
  readonly #groups: readonly Cgroup[]

  /** For a run of this process. */
  static async of(run: string, { ownsDescendants, cgroup }: Ports): Promise<RunProcesses> {
    const group = await cgroup
    return new RunProcesses(run, ownsDescendants, group === undefined ? [] : [group])
  }

  /** For a run whose process is dead. */
  static ofDeadRun(run: string): RunProcesses {
    return new RunProcesses(run, false, Cgroup.left().get(run))
  }

  /**
   * `ownsDescendants`: whether every descendant of this process belongs to the run. `groups` contain
   * only processes of the run and this one.
   */
  constructor(run: string, ownsDescendants: boolean, groups: readonly Cgroup[] = []) {
    this.#run = run
    this.#groups = groups
    this.#owns = ownsDescendants
    this.#earlierChildren = new Set(ownsDescendants ? readOwnChildren() : [])
  }

  /** Waits for the end of an agent, and reaps orphans that end in the meantime. */
  async whileAlive<Result>(finished: Promise<Result>): Promise<Result> {
    const timer = this.#owns ? setInterval(() => this.#reapAdopted(), REAP_MS) : undefined
    try {
      return await finished
    } finally {
      clearInterval(timer)
      if (this.#owns) this.#reapAdopted()
    }
  }

  /** The processes that are still running. */
  list(): Leftover[] {
    return this.#find().map(describeProcess)
  }

  /** Ends all processes of the run, and returns them. */
  async end(force: AbortSignal): Promise<Leftover[]> {
    const isGone = () => this.#isGone()
    if (isGone()) return []
    const kill = () => this.#groups.forEach((group) => group.kill())
    const ended = await endAndDescribe(() => this.#find(), force, { isGone, kill })
    if (this.#owns) this.#reapAdopted()
    return ended
  }

  /** Kills all processes of the run without waiting, because this process is about to exit. */
  kill(): void {
    stopAndKill(() => this.#find())
  }

  /** Ends the processes that an attempt of a task left running, and returns them. */
  endTask(key: string, force: AbortSignal): Promise<Leftover[]> {
    return this.#endOrphans((pid) => pathIn(pid, TASK_PATH).includes(key), force)
  }

  /**
   * Ends the processes that agents and commands in a scope, or in its folder, left running, and returns them.
   */
  endScope(scope: readonly string[], force: AbortSignal, folder: string): Promise<Leftover[]> {
    const place = `${scope.join('/')}/`
    return this.#endOrphans((pid) => {
      // A process in the folder of the branch may have lost the variables.
      if (isIn(folder, pid)) return true
      if (readVariable(pid, 'FORKHESTRA_RUN_ID') !== this.#run) return false
      return scope.length === 0 || `${readVariable(pid, 'FORKHESTRA_SCOPE')}/`.startsWith(place)
    }, force)
  }

  /** A process whose parent has ended becomes our child, so only our children need checking. */
  async #endOrphans(isMeant: (pid: number) => boolean, force: AbortSignal): Promise<Leftover[]> {
    const orphans = () => this.#adopted().filter(isMeant)
    if (!this.#owns || isNoneLeft(orphans)) return []
    const trees = new Map<number, () => number[]>()
    const find = () => {
      for (const pid of orphans()) if (!trees.has(pid)) trees.set(pid, treeOf(pid))
      return [...new Set([...trees.values()].flatMap((tree) => tree()))]
    }
    return endAndDescribe(find, force)
  }

  #find(): number[] {
    const rows = readProcesses()
    const below = this.#owns ? descendantsOf([process.pid], rows, this.#earlierChildren) : []
    const grouped = this.#groups.flatMap((group) => group.list())
    // Last, because it is the fastest: a process that forks and exits can evade the slower scans.
    const adopted = this.#owns ? this.#adopted().filter(isRunning) : []
    const found = [...below, ...processesWithRunId(this.#run, rows), ...grouped, ...adopted]
    const spared = treesAside()
    return [...new Set(found)].filter((pid) => !spared.has(pid))
  }

  /** Reliable even for processes that fork and exit faster than a scan. */
  #isGone(): boolean {
    if (!this.#owns || process.platform !== 'linux') return isNoneLeft(() => this.#find())
    this.#reapAdopted()
    // We have adopted every living process, or one of its ancestors.
    return this.#adopted().length === 0 && this.#find().length === 0
  }

  /** Removes zombies of adopted orphans; the runtime waits for its own children itself. */
  #reapAdopted(): void {
    if (!hasDeadChild()) return
    for (const pid of this.#adopted()) reap(pid)
  }

  #adopted(): number[] {
    return readOwnChildren().filter((pid) => !this.#earlierChildren.has(pid) && !isOwnChild(pid))
  }
}

/** The processes that belong to no run, although this process started them. */
function treesAside(): ReadonlySet<number> {
  const roots = childrenAside()
  return new Set(roots.length === 0 ? [] : [...roots, ...descendantsOf(roots, readProcesses())])
}

/** All living descendants of some processes, without ignored ones and their subtrees. */
function descendantsOf(
  roots: readonly number[],
  rows: readonly Row[],
  ignored: ReadonlySet<number> = new Set(),
): number[] {
  const children = Map.groupBy(rows, (row) => row.parent)
  const found: number[] = []
  const visit = (pid: number) => {
    for (const row of children.get(pid) ?? []) {
      if (ignored.has(row.pid)) continue
      if (!row.isDead) found.push(row.pid)
      visit(row.pid)
    }
  }
  roots.forEach(visit)
  return found
}

/**
 * Finds a process and its descendants. Repeated calls remember descendants whose parent has ended
 * in the meantime.
 */
export function treeOf(root: number): () => number[] {
  const known = new Set([root])
  return () => {
    const rows = readProcesses()
    for (const pid of descendantsOf([...known], rows)) known.add(pid)
    return rows.flatMap(({ pid, isDead }) => (known.has(pid) && !isDead ? [pid] : []))
  }
}

/** Waits for a process to end, and ends its whole tree if `signal` aborts. */
export async function endWithTree<End>(
  pid: number,
  finished: Promise<End>,
  signal: AbortSignal,
  force: AbortSignal,
  termMs?: number,
): Promise<End> {
  const tree = treeOf(pid)
  // Records the descendants while they can still be found through their parent.
  const look = () => void tree()
  signal.addEventListener('abort', look)
  try {
    const end = await finished
    if (signal.aborted) await endProcesses(tree, force, { termMs })
    return end
  } finally {
    signal.removeEventListener('abort', look)
  }
}

/** All living processes with this run's id in their environment (Linux only). */
function processesWithRunId(run: string, rows: readonly Row[]): number[] {
  if (process.platform !== 'linux') return []
  return rows
    .filter((row) => !row.isDead && row.pid !== process.pid && runsOf(row.pid).includes(run))
    .map((row) => row.pid)
}

/** The processes that dead runs left running, by run, from one scan of all processes. */
export function findOrphans(runs: readonly string[]): Map<string, Leftover[]> {
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
  return new Map([...found].map(([run, pids]) => [run, [...pids].map(describeProcess)]))
}

/** The nested runs that a process belongs to. */
function runsOf(pid: number): string[] {
  const path = pathIn(pid, 'FORKHESTRA_RUN_PATH')
  return path.length > 0 ? path : runByDescriptor(pid)
}

/** The run of a process with an empty environment, identified by the record descriptor that it inherited. */
function runByDescriptor(pid: number): string[] {
  return tryOr([], () => [
    basename(readlinkSync(`/proc/${pid}/fd/${MARK_FD}`)).replace(/ \(deleted\)$/, ''),
  ])
}

/** The variable that lists the nested task attempts of a process. */
export const TASK_PATH = 'FORKHESTRA_TASK_PATH'

function pathIn(pid: number, variable: string): string[] {
  return readVariable(pid, variable)?.split(':') ?? []
}

/** `sleep 60 (pid 7), make (pid 8, could not be killed)`. */
export function describeLeftovers(leftovers: readonly Leftover[]): string {
  return leftovers
    .map(({ pid, command, survived }) => {
      const still = survived === true ? ', could not be killed' : ''
      return `${command} (pid ${pid}${still})`
    })
    .join(', ')
}

/** Program and first argument only: the rest may contain secrets. */
function nameOf(pid: number): string {
  const [program, first] = (readProc(pid, 'cmdline') ?? '').split('\0')
  if (!program) return 'unknown'
  // Of a title such as `nginx: worker /etc/x`, nothing is cut.
  const isTitle = /^[^/\s]*\s/.test(program)
  const name = isTitle ? shorten(program, 60) : basename(program)
  return first && !first.startsWith('-') && first.length < 60 ? `${name} ${first}` : name
}

function describeProcess(pid: number): Leftover {
  return { pid, command: nameOf(pid) }
}

/** Ends what `find` returns, and names it, including processes that survived. */
async function endAndDescribe(
  find: () => number[],
  force: AbortSignal,
  options?: Parameters<typeof endProcesses>[2],
): Promise<Leftover[]> {
  let found: Leftover[] = []
  const findAndDescribe = () => {
    const pids = find()
    if (found.length === 0) found = pids.map(describeProcess)
    return pids
  }
  const survivors = await endProcesses(findAndDescribe, force, options)
  const ended = found.filter(({ pid }) => !survivors.includes(pid))
  return [...ended, ...survivors.map((pid) => ({ ...describeProcess(pid), survived: true }))]
}
