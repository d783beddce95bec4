import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { sendSignal } from './child.ts'
import { firstOf } from './first-of.ts'
import { hasDeadChild, reap } from './libc.ts'

/** From SIGTERM to SIGKILL. */
const TERM_MS = 2000
/** How long the killed may take to vanish; one that hangs in the kernel cannot be waited for. */
const KILL_MS = 3000
const POLL_MS = 15

interface Row {
  readonly pid: number
  readonly parent: number
  readonly isDead: boolean
}

/** Everything that descends from a process, without the dead. Dead children of ours are reaped. */
export function descendantsOf(root: number): number[] {
  const children = Map.groupBy(readProcesses(), (row) => row.parent)
  const found: number[] = []
  const visit = (pid: number) => {
    for (const row of children.get(pid) ?? []) {
      if (!row.isDead) found.push(row.pid)
      else if (row.parent === process.pid) reap(row.pid)
      visit(row.pid)
    }
  }
  visit(root)
  return found
}

/**
 * Finds a process and all that ever descended from it, called as often as needed: a child whose
 * parent has ended in the meantime is still known.
 */
export function treeOf(root: number): () => number[] {
  const known = new Set([root])
  return () => {
    for (const pid of known) descendantsOf(pid).forEach((child) => known.add(child))
    return readProcesses().flatMap(({ pid, isDead }) => (known.has(pid) && !isDead ? [pid] : []))
  }
}

/** Everything that was started with this run's id in its environment (Linux), without the dead. */
export function bearersOf(run: string): number[] {
  if (process.platform !== 'linux') return []
  return readProcesses()
    .filter((row) => !row.isDead && row.pid !== process.pid && bears(row.pid, run))
    .map((row) => row.pid)
}

function bears(pid: number, run: string): boolean {
  const path = readProc(pid, 'environ')
    ?.split('\0')
    .find((entry) => entry.startsWith('FORKHESTRA_RUN_PATH='))
  return (
    path !== undefined &&
    path
      .slice(path.indexOf('=') + 1)
      .split(':')
      .includes(run)
  )
}

/** Takes note of adopted orphans that ended, except the one that the runtime itself waits for. */
export function reapAdopted(except: number): void {
  if (!hasDeadChild()) return
  const children = readProc(process.pid, `task/${process.pid}/children`)?.split(' ') ?? []
  for (const pid of children.map(Number)) {
    if (pid !== except && pid > 0) reap(pid)
  }
}

/** For a message: program and first word, because the rest may hold secrets. */
export function nameOf(pid: number): string {
  const [program, first] = (readProc(pid, 'cmdline') ?? '').split('\0')
  if (!program) return 'unknown'
  const name = basename(program)
  return first && !first.startsWith('-') && first.length < 60 ? `${name} ${first}` : name
}

/** TERM to all that `find` finds, KILL to what is left of it; the survivors of both are returned. */
export async function endProcesses(find: () => number[], force: AbortSignal): Promise<number[]> {
  if (!force.aborted && signalAll(find(), 'SIGTERM')) {
    await until(() => find().length === 0, TERM_MS, force)
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

function readProcesses(): Row[] {
  return process.platform === 'linux' ? readProcFolder() : readProcessTable()
}

function readProcFolder(): Row[] {
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name)
    const stat = Number.isInteger(pid) ? readProc(pid, 'stat') : undefined
    if (stat === undefined) return []
    // The name in parentheses may itself hold spaces and parentheses.
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return [{ pid, parent: Number(parent), isDead: state === 'Z' || state === 'X' }]
  })
}

function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return undefined // It has ended, or it is another user's.
  }
}

function readProcessTable(): Row[] {
  const { stdout } = Bun.spawnSync(['ps', '-axo', 'pid=,ppid=,stat='])
  return stdout
    .toString()
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields.length === 3)
    .map(([pid, parent, state = '']) => ({
      pid: Number(pid),
      parent: Number(parent),
      isDead: state.startsWith('Z'),
    }))
}
