import { randomLetters } from '../../base/ids.ts'
import { makeAgentEnvironment } from '../../engines/environment.ts'
import { makeStamp } from '../../records/events/event.ts'
import { readRunState } from '../../records/journal/read-run.ts'
import { RunLock } from '../../records/journal/run-lock.ts'
import { EXIT_CODES, stopReasonOf } from '../../run/chain/ports.ts'
import { runQueue } from '../../run/subagents/run-queue.ts'
import type { FrontEnd } from '../front-end.ts'
import { endOrphansOf, mayEndOrphans } from '../orphans.ts'
import { ownFolder } from '../own-folder.ts'
import { readRecorded } from '../resume-run.ts'
import type { ReadyRun, Session } from '../run-session.ts'
import { type Caller, isDriven, type OpenQueue } from './caller.ts'
import { agentsOf } from './configuration.ts'
import type { EndBrief, TaskHead } from '../../queue/task.ts'
import { refuseUnsound } from './store.ts'

type Work = NonNullable<Session['work']>

/**
 * Processes the queue of a run in this process; `carry` runs the session. Returns the exit code of the
 * signal that stopped it, `asked` after `forkhestra stop`, or undefined if it finished.
 */
export async function driveQueue(
  { env: outer, confirm }: FrontEnd,
  { run, record: folder }: Pick<Caller, 'run' | 'record'>,
  lock: RunLock,
  mayKill: boolean,
  carry: (ready: ReadyRun, work: Work) => Promise<unknown>,
): Promise<number | 'asked' | undefined> {
  const env = makeAgentEnvironment(outer, ownFolder())
  const { state, seq } = readRunState(folder)
  const { plan } = await readRecorded(run, folder, env)
  const warnings = await endOrphansOf(run, mayKill, confirm)
  const stamp = makeStamp(run, `w-${randomLetters(6)}`, seq + 1)
  const session = { env, stamp, agents: await agentsOf(plan), resumed: { folder, lock, state } }
  let stopped: number | 'asked' | undefined
  await carry({ plan, warnings, session }, async (of, ports) => {
    await runQueue(of, ports)
    if (ports.stop.aborted) stopped = EXIT_CODES[stopReasonOf(ports.stop).signal]
    else if (ports.control.isStopRequested) stopped = 'asked'
  })
  return stopped
}

/** A run whose queue is being processed. */
export type Driven = Pick<OpenQueue, 'store' | 'run' | 'record'>

/** All is done, the exit code of a signal, `forkhestra stop`, or the wait was cancelled. */
type DriveEnd = Exclude<Awaited<ReturnType<typeof driveQueue>>, undefined> | 'over' | 'left'

/** How often a waiting caller checks whether the driving process is still alive. */
const LOOK_MS = 1000

const STARTED = ['ready', 'running'] as const

export function isStarted({ state }: TaskHead): boolean {
  return state === 'ready' || state === 'running'
}

/** Names of started tasks that no process runs. */
export async function unfinishedIn({ store, run, record }: Driven): Promise<string[]> {
  if (isDriven({ record })) return []
  return (await store.list(run, { states: STARTED })).map(({ name }) => name)
}

/** Throws before anything is started if the queue cannot be driven; returns whether orphans may be killed. */
export async function checkCanDrive(
  { client, store, run, record, isInside }: OpenQueue,
  mayKill: boolean,
  confirm: FrontEnd['confirm'],
): Promise<boolean> {
  if (isInside || isDriven({ record })) return mayKill
  await refuseUnsound(run, record)
  const { ready, running } = await store.counts(run)
  const isAny = ready + running > 0 || (await client.hasQueued())
  if (!isAny) return mayKill
  return mayEndOrphans(run, mayKill, () => isDriven({ record }), confirm)
}

/**
 * Waits until the started tasks have ended, and calls `drive` if no other process runs them. `stopped`
 * returns the signal that ends the wait for another process.
 */
export async function driveUntilDone(
  driven: Driven,
  names: readonly string[],
  drive: (lock: RunLock) => ReturnType<typeof driveQueue>,
  stopped: () => AbortSignal,
): Promise<DriveEnd> {
  const { store, run, record } = driven
  const isOver = makeDoneCheck(driven, names)
  for (;;) {
    const mark = await store.mark()
    if (await isOver()) return 'over'
    const lock = RunLock.take(record)
    if (lock instanceof RunLock) {
      try {
        const end = await drive(lock)
        if (end !== undefined) return end
      } finally {
        lock.release()
      }
      continue
    }
    const stop = stopped()
    await store.wait(run, mark, AbortSignal.any([stop, AbortSignal.timeout(LOOK_MS)]))
    if (stop.aborted) return 'left'
  }
}

/**
 * Returns a check whether all these tasks have ended. There may be thousands, so that only one open
 * task is queried at a time.
 */
function makeDoneCheck(driven: Driven, names: readonly string[]): () => Promise<boolean> {
  const { store, run } = driven
  const wanted = new Set(names)
  let last: TaskHead | undefined
  return async () => {
    const { isReady, isRunning } = await store.outlook(run)
    if (!isReady && !isRunning) return true
    if (!isDriven(driven)) return false
    const known = last === undefined ? undefined : await store.task(run, last.id)
    if (known !== undefined && isStarted(known)) return false
    // The newest is the most likely to end last.
    last = (await store.list(run, { states: STARTED })).findLast(({ name }) => wanted.has(name))
    return last === undefined
  }
}

/** Whether all of these succeeded; a task whose follow-up tasks were refused did not. */
export async function haveSucceeded(
  { store, run }: Driven,
  names: readonly string[],
): Promise<boolean> {
  const isClean = (end: EndBrief | null) => end?.success === true && end.notQueued === undefined
  return newestOf(await store.list(run), names).every(({ end }) => isClean(end))
}

/** A name may be used again once its task has ended. */
export function newestOf<One extends TaskHead>(
  tasks: readonly One[],
  names: readonly string[],
): One[] {
  const newest = new Map(tasks.map((task) => [task.name, task]))
  return names.flatMap((name) => newest.get(name) ?? [])
}
