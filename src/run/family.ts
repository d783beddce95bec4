import { basename } from 'node:path'
import type { Leftover } from '../events/schema.ts'
import { sendSignal } from './child.ts'
import { firstOf } from '../base/first-of.ts'
import { hasDeadChild, reap } from './libc.ts'
import { isOwnChild } from './own-children.ts'
import { readOwnChildren, readProc, readProcesses, type Row } from './process-table.ts'

/** From SIGTERM to SIGKILL. */
const TERM_MS = 2000
/** How long the killed may take to vanish; one that hangs in the kernel cannot be waited for. */
const KILL_MS = 3000
const POLL_MS = 15
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
  #reapedAt = -PAUSE_MS

  /** `ownsDescendants`: whether everything that descends from this process belongs to the run. */
  constructor(run: string, ownsDescendants: boolean) {
    this.#run = run
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
    return this.#find().map((pid) => ({ pid, command: nameOf(pid) }))
  }

  /** Ends whatever is left of the run, and names it. */
  async end(force: AbortSignal): Promise<Leftover[]> {
    const found = this.list()
    if (found.length === 0) return []
    const survivors = await endProcesses(() => this.#find(), force)
    return found.map((each) => (survivors.includes(each.pid) ? { ...each, survived: true } : each))
  }

  /** Ends what an attempt at a task has left running once its agent has gone, and names it. */
  async endTask(key: string, force: AbortSignal): Promise<Leftover[]> {
    const orphans = this.#orphansOf(key)
    if (orphans.length === 0) return []
    const trees = new Map(orphans.map((pid) => [pid, treeOf(pid)]))
    const find = () => {
      for (const pid of this.#orphansOf(key)) if (!trees.has(pid)) trees.set(pid, treeOf(pid))
      return [...new Set([...trees.values()].flatMap((tree) => tree()))]
    }
    const found = find().map((pid) => ({ pid, command: nameOf(pid) }))
    const survivors = await endProcesses(find, force)
    return found.map((each) => (survivors.includes(each.pid) ? { ...each, survived: true } : each))
  }

  /** Whose parent has ended becomes a child of ours: all others need not be looked at. */
  #orphansOf(key: string): number[] {
    if (!this.#owns) return []
    return this.#adopted().filter((pid) => pathIn(pid, TASK_PATH).includes(key))
  }

  #find(): number[] {
    const rows = readProcesses()
    const below = this.#owns ? descendantsOf([process.pid], rows, this.#strangers) : []
    return [...new Set([...below, ...bearersOf(this.#run, rows)])]
  }

  /** Adopted orphans that ended would pile up; those that the runtime itself waits for stay. */
  #reapAdopted(): void {
    if (!hasDeadChild()) return
    for (const pid of this.#adopted()) reap(pid)
  }

  #adopted(): number[] {
    return readOwnChildren().filter(
      (pid) => !this.#agents.has(pid) && !this.#strangers.has(pid) && !isOwnChild(pid),
    )
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

/** The same for several runs, by one look at all processes; runs that have none are left out. */
export function findBearers(runs: readonly string[]): Map<string, Leftover[]> {
  const found = new Map<string, Leftover[]>()
  if (runs.length === 0 || process.platform !== 'linux') return found
  for (const { pid, isDead } of readProcesses()) {
    const borne = isDead || pid === process.pid ? [] : runsOf(pid)
    for (const run of borne.filter((id) => runs.includes(id))) {
      found.set(run, [...(found.get(run) ?? []), { pid, command: nameOf(pid) }])
    }
  }
  return found
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

/** TERM to all that `find` finds, KILL to what is left of it; the survivors of both are returned. */
export async function endProcesses(
  find: () => number[],
  force: AbortSignal,
  termMs = TERM_MS,
): Promise<number[]> {
  if (!force.aborted && signalAll(find(), 'SIGTERM')) {
    await until(() => find().length === 0, termMs, force)
  }
  await until(() => !signalAll(find(), 'SIGKILL'), KILL_MS)
  return find()
}

function signalAll(pids: readonly number[], signal: NodeJS.Signals): boolean {
  for (const pid of pids) sendSignal(pid, signal)
  return pids.length > 0
}

async function until(isOver: () => boolean, ms: number, cut?: AbortSignal): Promise<void> {
  const end = performance.now() + ms
  while (!isOver() && performance.now() < end && !cut?.aborted) {
    await firstOf({ tick: POLL_MS, cut })
  }
}
