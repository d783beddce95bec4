import type { ProcessLaunch } from '../engines/engine.ts'
import type { Grace } from '../plan/policy.ts'
import { startChild, type Child, type Exit } from './child.ts'
import { endProcesses } from './end-processes.ts'
import { treeOf } from './family.ts'
import { firstOf } from '../base/first-of.ts'
import type { Pipe } from './pipe.ts'
import { stopReasonOf } from './ports.ts'
import { Silence } from './silence.ts'

/** How long a pipe is read after its process has gone, for what other holders of it still write. */
const LINGER_MS = 1000
/** The same once the run was told to stop: what the process itself said is in the pipe already. */
const STOPPED_LINGER_MS = 100
/** How long the last words may take to be taken once the run was told to stop. */
const LAST_WORDS_MS = 1000
/** How long an agent that was interrupted may take to tell what its work has come to. */
const FAREWELL_MS = 3000

export interface Supervision {
  readonly cwd: string
  readonly env: Record<string, string>
  readonly grace: Grace
  readonly limits: Limits
  readonly stop: AbortSignal
  readonly force: AbortSignal
  /** Gets what the process prints, in order; a promise makes it wait. */
  readonly take: (stream: 'out' | 'err', bytes: Uint8Array) => void | Promise<void>
  /** Settles when the process has said all that is wanted: from then on it has its grace. */
  readonly enough?: Promise<void>
}

/** What a process may take; absent: no limit. */
export interface Limits {
  readonly timeoutMs?: number | undefined
  readonly idleMs?: number | undefined
  /** Aborts, with a text as its reason, when a budget is spent. */
  readonly budget?: AbortSignal | undefined
}

/** Which limit a process was ended for. */
export type Cut =
  | { readonly kind: 'timed_out' | 'idle'; readonly ms: number }
  | { readonly kind: 'budget'; readonly error: string }

export interface Supervised {
  readonly pid: number
  /** Undefined where the run was stopped before the process went by itself. */
  readonly finished: Promise<Exit | Cut | undefined>
}

/** Starts a process and watches over it until it is gone and all that it said was taken. */
export function startProcess(launch: ProcessLaunch, supervision: Supervision): Supervised {
  const child = startChild(launch, supervision.cwd, supervision.env)
  const silence = new Silence(supervision.limits.idleMs)
  const hand = (stream: 'out' | 'err') => (bytes: Uint8Array) =>
    silence.breakFor(() => supervision.take(stream, bytes))
  const said = Promise.all([pump(child.out, hand('out')), pump(child.err, hand('err'))])
  const isStructured = launch.isStructured === true
  return { pid: child.pid, finished: finish(child, said, silence, supervision, isStructured) }
}

/** Hands one stream on, byte for byte, as fast as it is taken. */
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
  silence: Silence,
  supervision: Supervision,
  isStructured: boolean,
): Promise<Exit | Cut | undefined> {
  try {
    const cut = await waitForExit(child, said, silence, supervision, isStructured)
    silence.end()
    await drain(child, said, supervision)
    return cut === 'exit' ? await child.exited : cut === 'stop' ? undefined : cut
  } finally {
    silence.end()
    await Promise.all([child.out.close(), child.err.close()])
  }
}

/** What the end of the process came from; after a stop, how it went says nothing. */
async function waitForExit(
  child: Child,
  said: Promise<unknown>,
  silence: Silence,
  { enough, grace, limits, stop, force }: Supervision,
  isStructured: boolean,
): Promise<'exit' | 'stop' | Cut> {
  const exit = child.exited
  const broken = new Promise<void>((resolve) => {
    said.catch(() => resolve())
  })
  const { timeoutMs: timeout, budget } = limits
  const limiting = { timeout, idle: silence.tooLong, budget }
  let cause: 'exit' | 'enough' | 'stop' | 'late' | 'broken' | keyof typeof limiting = await firstOf(
    {
      exit,
      enough,
      stop,
      broken,
      ...limiting,
    },
  )
  if (cause === 'enough') cause = await firstOf({ exit, stop, broken, late: grace.markerMs })
  const cut = cutBy(cause, limits)
  if (cut !== undefined || cause === 'late' || cause === 'broken') {
    const tree = treeOf(child.pid)
    if (isStructured && cause !== 'broken') await interrupt(child, tree, stop)
    await endProcesses(tree, force, cut === undefined ? {} : { termMs: grace.termMs })
    cause = await firstOf({ exit, stop })
  }
  if (cause !== 'stop') return cut ?? 'exit'
  child.signal(stopReasonOf(stop).signal)
  await firstOf({ exit, late: grace.termMs, force })
  return 'stop'
}

/** A coding CLI that is interrupted still tells what it took; one that is terminated does not. */
async function interrupt(child: Child, tree: () => number[], stop: AbortSignal): Promise<void> {
  // From now on what it has started is known, also once it is gone.
  tree()
  child.signal('SIGINT')
  await firstOf({ exit: child.exited, stop, late: FAREWELL_MS })
}

export function cutBy(cause: string, { timeoutMs, idleMs, budget }: Limits): Cut | undefined {
  if (cause === 'timeout') return { kind: 'timed_out', ms: timeoutMs! }
  if (cause === 'idle') return { kind: 'idle', ms: idleMs! }
  if (cause === 'budget') return { kind: 'budget', error: String(budget!.reason) }
  return undefined
}

/** Reads what the process said before it went, and what others that hold its pipes say for a while. */
async function drain(
  child: Child,
  said: Promise<unknown>,
  { stop, force }: Supervision,
): Promise<void> {
  // As a rule its pipes have come to their end before it has.
  if (Bun.peek.status(said) === 'fulfilled') return
  let cause: 'said' | 'stop' | 'late' | 'force' = await firstOf({ said, stop, late: LINGER_MS })
  if (cause === 'stop') cause = await firstOf({ said, force, late: STOPPED_LINGER_MS })
  if (cause === 'late') {
    await Promise.all([child.out.finish(), child.err.finish()])
    // A slow reader of ours may take its time with the rest, unless nobody wants it any more.
    cause = await firstOf({ said, stop })
    if (cause === 'stop') cause = await firstOf({ said, force, late: LAST_WORDS_MS })
  }
  if (cause === 'said') await said
}
