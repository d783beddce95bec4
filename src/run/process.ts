import type { Launch } from '../engines/engine.ts'
import type { Grace } from '../plan/plan.ts'
import { startChild, type Child, type Exit } from './child.ts'
import { endProcesses, treeOf } from './family.ts'
import { firstOf } from '../base/first-of.ts'
import type { Pipe } from './pipe.ts'
import { stopReasonOf } from './ports.ts'

/** How long a pipe is read after its process has gone, for what other holders of it still write. */
const LINGER_MS = 1000
/** The same once the run was told to stop: what the process itself said is in the pipe already. */
const STOPPED_LINGER_MS = 100
/** How long the last words may take to be taken once the run was told to stop. */
const LAST_WORDS_MS = 1000

export interface Supervision {
  readonly cwd: string
  readonly env: Record<string, string>
  readonly grace: Grace
  readonly stop: AbortSignal
  readonly force: AbortSignal
  /** Gets what the process prints, in order; a promise makes it wait. */
  readonly take: (stream: 'out' | 'err', bytes: Uint8Array) => void | Promise<void>
  /** Settles when the process has said all that is wanted: from then on it has its grace. */
  readonly enough: Promise<void>
}

export interface Supervised {
  readonly pid: number
  /** Undefined where the run was stopped before the process went by itself. */
  readonly finished: Promise<Exit | undefined>
}

/** Starts a process and watches over it until it is gone and all that it said was taken. */
export function startProcess(launch: Launch, supervision: Supervision): Supervised {
  const child = startChild(launch, supervision.cwd, supervision.env)
  const said = Promise.all([
    pump(child.out, (bytes) => supervision.take('out', bytes)),
    pump(child.err, (bytes) => supervision.take('err', bytes)),
  ])
  return { pid: child.pid, finished: finish(child, said, supervision) }
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
  supervision: Supervision,
): Promise<Exit | undefined> {
  try {
    const isGone = await waitForExit(child, said, supervision)
    await drain(child, said, supervision)
    return isGone ? await child.exited : undefined
  } finally {
    await Promise.all([child.out.close(), child.err.close()])
  }
}

/** False where a stop came before the end of the process: how it went then says nothing. */
async function waitForExit(
  child: Child,
  said: Promise<unknown>,
  { enough, grace, stop, force }: Supervision,
): Promise<boolean> {
  const exit = child.exited
  const broken = new Promise<void>((resolve) => {
    said.catch(() => resolve())
  })
  let cause: 'exit' | 'enough' | 'stop' | 'late' | 'broken' = await firstOf({
    exit,
    enough,
    stop,
    broken,
  })
  if (cause === 'enough') cause = await firstOf({ exit, stop, broken, late: grace.markerMs })
  if (cause === 'late' || cause === 'broken') {
    await endProcesses(treeOf(child.pid), force)
    cause = await firstOf({ exit, stop })
  }
  if (cause !== 'stop') return true
  child.signal(stopReasonOf(stop).signal)
  await firstOf({ exit, late: grace.termMs, force })
  return false
}

/** Reads what the process said before it went, and what others that hold its pipes say for a while. */
async function drain(
  child: Child,
  said: Promise<unknown>,
  { stop, force }: Supervision,
): Promise<void> {
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
