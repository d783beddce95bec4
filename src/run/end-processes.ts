import { awakeMs } from '../base/awake.ts'
import { firstOf } from '../base/first-of.ts'
import { sendSignal } from './child.ts'
import { readProc } from './process-table.ts'

/** From SIGTERM to SIGKILL. */
const TERM_MS = 2000
/** How long the killed may take to vanish; one that hangs in the kernel cannot be waited for. */
const KILL_MS = 3000
const POLL_MS = 15
/** How long new processes are stopped before those that are stopped are killed. */
const STOP_MS = 100
/** So many looks in a row must find nothing: a process that forks and exits may slip through one. */
const LOOKS = process.platform === 'linux' ? 3 : 1

interface Ways {
  readonly termMs?: number | undefined
  /** Whether nothing is left, where that is known better than by looking several times. */
  readonly isGone?: () => boolean
  /** Kills at once what the system knows to belong together. */
  readonly kill?: () => void
}

/** TERM to all that `find` finds, KILL to what is left of it; the survivors of both are returned. */
export async function endProcesses(
  find: () => number[],
  force: AbortSignal,
  { termMs = TERM_MS, isGone = () => isNoneLeft(find), kill }: Ways = {},
): Promise<number[]> {
  const told = new Set<number>()
  const isOverGently = () => {
    signalAll(unlisted(find, told), 'SIGTERM')
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

/** What is found and not in the list yet; from then on it is. */
function unlisted(find: () => number[], list: Set<number>): number[] {
  const found = find().filter((pid) => !list.has(pid))
  for (const pid of found) list.add(pid)
  return found
}

/** Looks several times. */
export function isNoneLeft(find: () => number[]): boolean {
  for (let look = 0; look < LOOKS; look++) if (find().length > 0) return false
  return true
}

/** Stops all before any is killed, because what is stopped cannot start another one in its place. */
function stopAndKill(find: () => number[]): void {
  const stopped = new Set<number>()
  const end = awakeMs() + STOP_MS
  while (awakeMs() < end && signalAll(unlisted(find, stopped), 'SIGSTOP')) continue
  signalAll([...stopped], 'SIGKILL')
}

function signalAll(pids: readonly number[], signal: NodeJS.Signals): boolean {
  for (const pid of pids) sendSignal(pid, signal)
  return pids.length > 0
}

async function until(isOver: () => boolean, ms: number, cut?: AbortSignal): Promise<void> {
  const end = awakeMs() + ms
  while (!isOver() && awakeMs() < end && !cut?.aborted) {
    await firstOf({ tick: POLL_MS, cut })
  }
}

/** Whether a process is there and not only waits for its end to be noticed. */
export function isRunning(pid: number): boolean {
  const stat = readProc(pid, 'stat')
  return stat !== undefined && !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2))
}
