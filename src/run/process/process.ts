import type { ProcessLaunch } from '../../engines/engine.ts'
import type { BudgetSpent } from '../../records/events/schema.ts'
import type { Grace } from '../../chain/plan/policy.ts'
import { startChild, type Child, type Exit } from './child.ts'
import { endProcesses } from './end-processes.ts'
import { treeOf } from './run-processes.ts'
import { firstCause } from '../../base/first-cause.ts'
import type { Pipe } from './pipe.ts'
import { stopReasonOf } from '../ports.ts'
import { IdleTimer } from './idle-timer.ts'

/** How long to read a pipe after its process has ended, while others hold it open. */
const LINGER_MS = 1000
/** The same after a stop: the process's own output is already in the pipe. */
const STOPPED_LINGER_MS = 100
/** How long passing on the last output may take after a stop. */
const LAST_OUTPUT_MS = 1000
/** How long an interrupted agent may take to report its usage. */
const REPORT_MS = 3000

export interface Supervision {
  readonly cwd: string
  readonly env: Record<string, string>
  readonly grace: Grace
  readonly limits: Limits
  readonly stop: AbortSignal
  readonly force: AbortSignal
  /** Gets the output in order; a promise makes the process wait. */
  readonly take: (stream: 'out' | 'err', bytes: Uint8Array) => void | Promise<void>
  /** Settles when the process should end; its grace period begins then. */
  readonly enough?: Promise<void>
}

/** An absent field means no limit. */
export interface Limits {
  readonly timeoutMs?: number | undefined
  readonly idleMs?: number | undefined
  /** Aborts, with a `BudgetSpent` as its reason, when a budget is spent. */
  readonly budget?: AbortSignal | undefined
}

/** The limit for which a process was ended. */
export type Cut =
  | { readonly kind: 'timed_out' | 'idle'; readonly ms: number }
  | ({ readonly kind: 'budget' } & Readonly<BudgetSpent>)

export function shellLaunch(command: string): ProcessLaunch {
  return { kind: 'process', argv: ['/bin/sh', '-c', command], env: {}, decode: () => undefined }
}

/**
 * Starts a process and supervises it until it has ended and its output has been read. `finished` is undefined
 * if the run was stopped before the process ended on its own.
 */
export function startProcess(launch: ProcessLaunch, supervision: Supervision) {
  const child = startChild(launch, supervision.cwd, supervision.env)
  const idleTimer = new IdleTimer(supervision.limits.idleMs)
  const passOn = (stream: 'out' | 'err') => (bytes: Uint8Array) =>
    idleTimer.resetFor(() => supervision.take(stream, bytes))
  const said = Promise.all([pump(child.out, passOn('out')), pump(child.err, passOn('err'))])
  const isStructured = launch.isStructured === true
  return { pid: child.pid, finished: finish(child, said, idleTimer, supervision, isStructured) }
}

async function pump(pipe: Pipe, take: (bytes: Uint8Array) => void | Promise<void>): Promise<void> {
  for (;;) {
    const bytes = await pipe.read()
    if (bytes === undefined) return
    await take(bytes)
  }
}

async function finish(
  child: Child,
  said: Promise<unknown>,
  idleTimer: IdleTimer,
  supervision: Supervision,
  isStructured: boolean,
): Promise<Exit | Cut | undefined> {
  try {
    const cut = await waitForExit(child, said, idleTimer, supervision, isStructured)
    idleTimer.end()
    await drain(child, said, supervision)
    return cut === 'exit' ? await child.exited : cut === 'stop' ? undefined : cut
  } finally {
    idleTimer.end()
    await Promise.all([child.out.close(), child.err.close()])
  }
}

/** Waits for the process to end, and returns the cause. */
async function waitForExit(
  child: Child,
  said: Promise<unknown>,
  idleTimer: IdleTimer,
  { enough, grace, limits, stop, force }: Supervision,
  isStructured: boolean,
): Promise<'exit' | 'stop' | Cut> {
  const exit = child.exited
  const broken = new Promise<void>((resolve) => {
    said.catch(() => resolve())
  })
  const { timeoutMs: timeout, budget } = limits
  const limiting = { timeout, idle: idleTimer.expired, budget }
  let cause: 'exit' | 'enough' | 'stop' | 'late' | 'broken' | keyof typeof limiting =
    await firstCause({
      exit,
      enough,
      stop,
      broken,
      ...limiting,
    })
  if (cause === 'enough') cause = await firstCause({ exit, stop, broken, late: grace.markerMs })
  const cut = cutBy(cause, limits)
  if (cut !== undefined || cause === 'late' || cause === 'broken') {
    const tree = treeOf(child.pid)
    if (isStructured && cause !== 'broken') await interrupt(child, tree, stop)
    await endProcesses(tree, force, cut === undefined ? {} : { termMs: grace.termMs })
    cause = await firstCause({ exit, stop })
  }
  if (cause !== 'stop') return cut ?? 'exit'
  child.signal(stopReasonOf(stop).signal)
  await firstCause({ exit, late: grace.termMs, force })
  return 'stop'
}

/** A coding CLI still reports its usage after SIGINT, but not after SIGTERM. */
async function interrupt(child: Child, tree: () => number[], stop: AbortSignal): Promise<void> {
  // Records the descendants while they can still be found through their parent.
  tree()
  child.signal('SIGINT')
  await firstCause({ exit: child.exited, stop, late: REPORT_MS })
}

export function cutBy(cause: string, { timeoutMs, idleMs, budget }: Limits): Cut | undefined {
  if (cause === 'timeout') return { kind: 'timed_out', ms: timeoutMs! }
  if (cause === 'idle') return { kind: 'idle', ms: idleMs! }
  if (cause === 'budget') return { kind: 'budget', ...(budget!.reason as BudgetSpent) }
  return undefined
}

/** Reads the rest of the output and, for a while, what other processes write to the pipes. */
async function drain(
  child: Child,
  said: Promise<unknown>,
  { stop, force }: Supervision,
): Promise<void> {
  let cause: 'said' | 'stop' | 'late' | 'force' = await firstCause({ said, stop, late: LINGER_MS })
  if (cause === 'stop') cause = await firstCause({ said, force, late: STOPPED_LINGER_MS })
  if (cause === 'late') {
    await Promise.all([child.out.finish(), child.err.finish()])
    // A slow consumer may take its time, unless the run is stopped.
    cause = await firstCause({ said, stop })
    if (cause === 'stop') cause = await firstCause({ said, force, late: LAST_OUTPUT_MS })
  }
  if (cause === 'said') await said
}
