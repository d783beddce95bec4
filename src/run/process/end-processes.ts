import { awakeMs } from '../../base/awake.ts'
import { firstCause } from '../../base/first-cause.ts'
import { sendSignal } from './child.ts'
import { readStat } from '../../base/linux/process-table.ts'

/** Time from SIGTERM to SIGKILL. */
const TERM_MS = 2000
/** How long to wait for killed processes; one that hangs in the kernel may never disappear. */
const KILL_MS = 3000
const POLL_MS = 15
/** How long to keep stopping new processes before killing the stopped ones. */
const STOP_MS = 100
/** How many empty scans in a row are needed: one scan can miss a process that forks and exits. */
const SCANS = process.platform === 'linux' ? 3 : 1

interface Options {
  readonly termMs?: number | undefined
  /** A check that nothing is left, more reliable than repeated scans. */
  readonly isGone?: () => boolean
  /** Kills a cgroup at once. */
  readonly kill?: () => void
}

/** Sends SIGTERM to all that `find` returns, then SIGKILL to the rest; returns the survivors. */
export async function endProcesses(
  find: () => number[],
  force: AbortSignal,
  { termMs = TERM_MS, isGone = () => isNoneLeft(find), kill }: Options = {},
): Promise<number[]> {
  const signalled = new Set<number>()
  const isOverGently = () => {
    signalAll(findNew(find, signalled), 'SIGTERM')
    return isGone()
  }
  if (!force.aborted) await until(isOverGently, termMs, force)
  const isOver = () => {
    if (isGone()) return true
    kill?.()
    stopAndKill(find)
    return false
  }
  await until(isOver, KILL_MS)
  return find()
}

/** Adds new processes to `known`, and returns the new ones. */
function findNew(find: () => number[], known: Set<number>): number[] {
  const found = find().filter((pid) => !known.has(pid))
  for (const pid of found) known.add(pid)
  return found
}

/** Scans several times, because processes may fork and exit during a scan. */
export function isNoneLeft(find: () => number[]): boolean {
  for (let scan = 0; scan < SCANS; scan++) if (find().length > 0) return false
  return true
}

/** Stops all processes before killing any, so that none can fork a replacement. */
export function stopAndKill(find: () => number[]): void {
  const stopped = new Set<number>()
  const end = awakeMs() + STOP_MS
  while (awakeMs() < end && signalAll(findNew(find, stopped), 'SIGSTOP')) continue
  signalAll([...stopped], 'SIGKILL')
}

function signalAll(pids: readonly number[], signal: NodeJS.Signals): boolean {
  for (const pid of pids) sendSignal(pid, signal)
  return pids.length > 0
}

async function until(isOver: () => boolean, ms: number, cut?: AbortSignal): Promise<void> {
  const end = awakeMs() + ms
  while (!isOver() && awakeMs() < end && !cut?.aborted) {
    await firstCause({ tick: POLL_MS, cut })
  }
}

/** Whether a process exists and is not a zombie. */
export function isRunning(pid: number): boolean {
  return readStat(pid)?.isDead === false
}
