import { pollWithBackoff } from '../../base/backoff.ts'
import { readRunState } from '../../records/journal/read-run.ts'
import { isDriven, RunLock } from '../../records/journal/run-lock.ts'
import { EXIT_CODES, stopReasonOf } from '../../run/ports.ts'
import { runQueue } from '../../run/chain/run-plan.ts'
import type { FrontEnd } from '../front-end.ts'
import { endOrphansOf, mayEndOrphans } from '../orphans.ts'
import { stampFor } from '../identity.ts'
import { agentEnvironment } from '../own-folder.ts'
import { readRecorded } from '../resume-run.ts'
import type { ReadyRun, Session } from '../run-session.ts'
import type { Delivery, StartOptions } from '../../queue/client.ts'
import type { Received, ReceiveQuery } from '../../queue/receive.ts'
import { STARTED_STATES, type TaskEndBrief, type TaskHead } from '../../queue/task.ts'
import type { OpenQueue, QueueCaller } from './caller.ts'
import { agentsOf } from './configuration.ts'
import { hasStore } from './store-path.ts'
import { openStoreOf, refuseUnsound } from './store.ts'

type Work = NonNullable<Session['work']>

/**
 * Processes the queue of a run in this process; `execute` runs the session. Returns the exit code of the
 * signal that stopped it, `asked` after `forkhestra stop`, or undefined if it finished.
 */
export async function driveQueue(
  frontEnd: FrontEnd,
  { run, record: folder }: Pick<QueueCaller, 'run' | 'record'>,
  lock: RunLock,
  mayKill: boolean,
  execute: (ready: ReadyRun, work: Work) => Promise<unknown>,
): Promise<number | 'asked' | undefined> {
  const env = agentEnvironment(frontEnd.env)
  const { state, seq } = readRunState(folder)
  const { plan } = await readRecorded(run, folder, env)
  const warnings = await endOrphansOf({ run, record: folder }, mayKill, frontEnd)
  const stamp = stampFor(run, seq)
  const agents = await agentsOf(plan, env)
  const session = { env, stamp, agents, resumed: { folder, lock, state } }
  let stopped: number | 'asked' | undefined
  await execute({ plan, warnings, session }, async (of, ports) => {
    await runQueue(of, ports)
    if (ports.stop.aborted) stopped = EXIT_CODES[stopReasonOf(ports.stop).signal]
    else if (ports.control.isStopRequested) stopped = 'asked'
  })
  return stopped
}

/** A run whose queue is being processed. */
export type Driven = Pick<OpenQueue, 'store' | 'run' | 'record'>

/** Everything finished, the exit code of a signal, `forkhestra stop`, or a cancelled wait. */
type DriveEnd = Exclude<Awaited<ReturnType<typeof driveQueue>>, undefined> | 'over' | 'left'

/** How often a waiting caller checks whether the driving process is still alive. */
const RECHECK_MS = 1000

/** Names of started tasks that no process runs. */
async function unfinishedIn({ store, run, record }: Driven): Promise<string[]> {
  if (isDriven(record)) return []
  return (await store.list(run, { states: STARTED_STATES })).map(({ name }) => name)
}

/** Starts queued tasks; throws before that if the queue cannot be driven. */
export async function startTasks(
  opened: OpenQueue,
  options: StartOptions,
  killOrphans: boolean,
  frontEnd: FrontEnd,
) {
  const unfinished = opened.isInside ? [] : await unfinishedIn(opened)
  const mayKill = await checkCanDrive(opened, killOrphans, frontEnd)
  const { started, held } = await opened.client.run(options)
  return { started, held, unfinished, names: [...unfinished, ...started], mayKill }
}

/** Calls `drive` for started tasks that an earlier process did not finish; undefined if there are none. */
export async function driveUnfinished<Result>(
  { run, record }: Pick<QueueCaller, 'run' | 'record'>,
  killOrphans: boolean,
  frontEnd: FrontEnd,
  drive: (driven: Driven, names: readonly string[], mayKill: boolean) => Promise<Result>,
): Promise<Result | undefined> {
  if (!hasStore(record)) return undefined
  const store = await openStoreOf(record, frontEnd.env)
  try {
    const driven = { store, run, record }
    const names = await unfinishedIn(driven)
    if (names.length === 0) return undefined
    const mayKill = await mayEndOrphans(
      { run, record },
      killOrphans,
      () => isDriven(record),
      frontEnd,
    )
    return await drive(driven, names, mayKill)
  } finally {
    await store.close()
  }
}

/** Whether orphans may be killed. */
async function checkCanDrive(
  { store, run, record, isInside }: OpenQueue,
  mayKill: boolean,
  frontEnd: FrontEnd,
): Promise<boolean> {
  if (isInside || isDriven(record)) return mayKill
  await refuseUnsound(run, record, frontEnd.env)
  const { queued, ready, running } = await store.counts(run)
  if (queued + ready + running === 0) return mayKill
  return mayEndOrphans({ run, record }, mayKill, () => isDriven(record), frontEnd)
}

/**
 * Waits until the named tasks (default: all) have ended, and calls `drive` if no other process runs them.
 * `stopped` returns the signal that ends the wait for another process.
 */
export async function driveUntilDone(
  driven: Driven,
  names: readonly string[] | undefined,
  drive: (lock: RunLock) => ReturnType<typeof driveQueue>,
  stopped: () => AbortSignal,
): Promise<DriveEnd> {
  const { store, run, record } = driven
  const wanted = names === undefined ? undefined : new Set(names)
  const isOver = async () => {
    const open = await store.list(run, { states: STARTED_STATES })
    if (open.length === 0 || !isDriven(record)) return open.length === 0
    return !open.some(({ name }) => wanted?.has(name) !== false)
  }
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
    await store.wait(run, mark, AbortSignal.any([stop, AbortSignal.timeout(RECHECK_MS)]))
    if (stop.aborted) return 'left'
  }
}

/** Whether all of these succeeded; a task whose follow-up tasks were refused counts as failed. */
export async function haveSucceeded(
  { store, run }: Driven,
  names: readonly string[],
): Promise<boolean> {
  const isClean = (end: TaskEndBrief | null) => end?.success === true && end.notQueued === undefined
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

/** How often a waiting caller checks whether any process drives the queue. */
const CHECK_MS = { first: 2000, longest: 60_000 }

/** Ends the wait if no process drives the queue, because no answer can arrive. */
export async function receiveWhileDriven(
  opened: OpenQueue,
  query: ReceiveQuery,
  stop: AbortSignal,
  isProcessed: () => boolean = () => isDriven(opened.record),
): Promise<Received & Delivery> {
  const alone = new AbortController()
  const check = () => {
    if (!isProcessed()) alone.abort()
  }
  check()
  const stopChecking = pollWithBackoff(check, CHECK_MS.first, CHECK_MS.longest)
  try {
    const received = await opened.client.receive(query, AbortSignal.any([stop, alone.signal]))
    const isAlone = received.status === 'stopped' && !stop.aborted
    return isAlone ? { ...received, status: 'nothing_to_wait_for' } : received
  } finally {
    stopChecking()
  }
}
