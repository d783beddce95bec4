import { pollWithBackoff } from '../../base/backoff.ts'
import { randomLetters } from '../../base/ids.ts'
import { makeAgentEnvironment } from '../../engines/environment.ts'
import { makeStamp } from '../../records/events/event.ts'
import { readRunState } from '../../records/journal/read-run.ts'
import { RunLock } from '../../records/journal/run-lock.ts'
import { EXIT_CODES, stopReasonOf } from '../../run/ports.ts'
import { runQueue } from '../../run/chain/run-plan.ts'
import type { FrontEnd } from '../front-end.ts'
import { endOrphansOf, mayEndOrphans } from '../orphans.ts'
import { ownFolder } from '../own-folder.ts'
import { readRecorded } from '../resume-run.ts'
import type { ReadyRun, Session } from '../run-session.ts'
import type { Delivery, RunOptions } from '../../queue/client.ts'
import type { Received, ReceiveQuery } from '../../queue/receive.ts'
import type { EndBrief, TaskHead } from '../../queue/task.ts'
import { isDriven, type Caller, type OpenQueue } from './caller.ts'
import { agentsOf } from './configuration.ts'
import { hasStore } from './store-path.ts'
import { openStoreOf, refuseUnsound } from './store.ts'

type Work = NonNullable<Session['work']>

/**
 * Processes the queue of a run in this process; `carry` runs the session. Returns the exit code of the
 * signal that stopped it, `asked` after `forkhestra stop`, or undefined if it finished.
 */
export async function driveQueue(
  frontEnd: FrontEnd,
  { run, record: folder }: Pick<Caller, 'run' | 'record'>,
  lock: RunLock,
  mayKill: boolean,
  carry: (ready: ReadyRun, work: Work) => Promise<unknown>,
): Promise<number | 'asked' | undefined> {
  const env = makeAgentEnvironment(frontEnd.env, ownFolder())
  const { state, seq } = readRunState(folder)
  const { plan } = await readRecorded(run, folder, env)
  const warnings = await endOrphansOf({ run, record: folder }, mayKill, frontEnd)
  const stamp = makeStamp(run, `w-${randomLetters(6)}`, seq + 1)
  const agents = await agentsOf(plan, env)
  const session = { env, stamp, agents, resumed: { folder, lock, state } }
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

export const STARTED = ['ready', 'running'] as const

export function isStarted({ state }: TaskHead): boolean {
  return state === 'ready' || state === 'running'
}

/** Names of started tasks that no process runs. */
async function unfinishedIn({ store, run, record }: Driven): Promise<string[]> {
  if (isDriven({ record })) return []
  return (await store.list(run, { states: STARTED })).map(({ name }) => name)
}

/** Starts queued tasks; throws before that if the queue cannot be driven. */
export async function startTasks(
  opened: OpenQueue,
  options: RunOptions,
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
  { run, record }: Pick<Caller, 'run' | 'record'>,
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
      () => isDriven({ record }),
      frontEnd,
    )
    return await drive(driven, names, mayKill)
  } finally {
    await store.close()
  }
}

/** Returns whether orphans may be killed. */
async function checkCanDrive(
  { client, store, run, record, isInside }: OpenQueue,
  mayKill: boolean,
  frontEnd: FrontEnd,
): Promise<boolean> {
  if (isInside || isDriven({ record })) return mayKill
  await refuseUnsound(run, record, frontEnd.env)
  const { ready, running } = await store.counts(run)
  const isAny = ready + running > 0 || (await client.hasQueued())
  if (!isAny) return mayKill
  return mayEndOrphans({ run, record }, mayKill, () => isDriven({ record }), frontEnd)
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

/** Checks one open task at a time, because there may be thousands. */
function makeDoneCheck(driven: Driven, names?: readonly string[]): () => Promise<boolean> {
  const { store, run } = driven
  const wanted = names === undefined ? undefined : new Set(names)
  let last: TaskHead | undefined
  return async () => {
    const { isReady, isRunning } = await store.outlook(run)
    if (!isReady && !isRunning) return true
    if (!isDriven(driven)) return false
    const known = last === undefined ? undefined : await store.task(run, last.id)
    if (known !== undefined && isStarted(known)) return false
    // The newest is the most likely to end last.
    last = (await store.list(run, { states: STARTED })).findLast(
      ({ name }) => wanted?.has(name) !== false,
    )
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

/** How often a waiting caller checks whether any process drives the queue. */
const CHECK_MS = { first: 2000, longest: 60_000 }

/** Ends the wait if no process drives the queue, because then no answer can come. */
export async function receiveWhileDriven(
  opened: OpenQueue,
  query: ReceiveQuery,
  stop: AbortSignal,
  isWorkedAt: () => boolean = () => isDriven(opened),
): Promise<Received & Delivery> {
  const alone = new AbortController()
  const check = () => {
    if (!isWorkedAt()) alone.abort()
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
