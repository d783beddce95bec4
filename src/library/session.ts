import { quoterInside } from '../engines/marker/line-quoter.ts'
import type { FrontEnd } from '../host/front-end.ts'
import { openProject } from '../host/project.ts'
import { runSession, type ReadyRun, type Session } from '../host/run-session.ts'
import { CAUGHT_SIGNALS, StopSwitch, isIgnored, type CaughtSignal } from '../host/stop-switch.ts'
import type { OutputChunk } from '../records/events/event.ts'
import type { RunEvent } from '../records/events/schema.ts'
import type { RunState } from '../records/events/state.ts'
import { PlainView } from '../views/plain.ts'
import { Terminal } from '../views/terminal.ts'
import { RunProcesses } from '../run/process/run-processes.ts'

/** Options of all calls that start agents. */
export interface SessionOptions {
  /** Prints the same output as --verbose on the command line. */
  readonly verbose?: boolean | undefined
  readonly onEvent?: ((event: RunEvent) => void) | undefined
  /** If it returns a promise, the agent waits for it. */
  readonly onOutput?: ((chunk: OutputChunk) => void | Promise<void>) | undefined
  /** Stops the run; the reason may be the name of a signal for the agents. */
  readonly signal?: AbortSignal | undefined
  /** Kills agents that do not stop. */
  readonly force?: AbortSignal | undefined
  /** If false, agents survive signals to the program and its exit. */
  readonly handleSignals?: boolean | undefined
  /** Kills processes that a dead run left running. */
  readonly killOrphans?: boolean | undefined
}

type Stopping = Pick<Session, 'stop' | 'force'>

/** Calls `work` with signals that abort when the run must stop. */
export function withStopSignals<Result>(
  run: string,
  { signal, force, handleSignals = true }: SessionOptions,
  work: (stopping: Stopping) => Promise<Result>,
): Promise<Result> {
  const workWith = (stopSwitch: StopSwitch) =>
    work({ stop: either(stopSwitch.stop, signal), force: either(stopSwitch.force, force) })
  return handleSignals ? withSignalHandlers(run, workWith) : workWith(new StopSwitch())
}

function either(one: AbortSignal, other: AbortSignal | undefined): AbortSignal {
  return other === undefined ? one : AbortSignal.any([one, other])
}

/** Runs a plan on behalf of a program. */
export async function runReady(
  ready: ReadyRun,
  { verbose, onEvent, onOutput }: SessionOptions,
  stopping: Stopping,
  how: Pick<Session, 'isRecorded' | 'work'> = {},
): Promise<RunState> {
  const { env } = ready.session
  const terminal = verbose
    ? new Terminal({
        env,
        makeQuoter: quoterInside(env),
        uncut: true,
        onClosed: () => undefined,
        onLost: () => undefined,
      })
    : undefined
  const view = terminal === undefined ? undefined : new PlainView(terminal, true)
  const state = await runSession(ready, {
    ...ready.session,
    ...stopping,
    ...how,
    ownsProcess: false,
    view: () => ({
      show: (event) => {
        view?.show(event)
        onEvent?.(event)
      },
      output: async (chunk) => {
        await view?.output(chunk)
        await onOutput?.(chunk)
      },
    }),
  })
  await terminal?.close({ stop: stopping.stop, force: stopping.stop })
  return state
}

/** There is no user to inform or to ask. */
export function makeFrontEnd(
  cwd: string | undefined,
  notice: FrontEnd['notice'] = () => undefined,
): FrontEnd {
  const cwdOption = cwd === undefined ? '' : ` --cwd ${cwd}`
  const project = openProject(cwd, process.env)
  return { env: process.env, project, cwdOption, notice, confirm: async () => false }
}

/** The runs that a signal stops. */
const runs = new Map<StopSwitch, string>()
/** The signal that ends the program after its runs, because the program has no listener for it. */
let fatal: CaughtSignal | undefined
let allOver = Promise.withResolvers<void>()

const listeners = CAUGHT_SIGNALS.map((signal) => {
  const listener = () => {
    // Ours is called first, while a `once` listener of the program still counts.
    if (process.listenerCount(signal) === 1) fatal ??= signal
    for (const stopSwitch of runs.keys()) stopSwitch.receive(signal)
  }
  return [signal, listener] as const
})

/**
 * The first signal stops the run, the second one kills its agents. Afterwards the signal ends the program,
 * unless the program listens for it.
 */
async function withSignalHandlers<Result>(
  run: string,
  work: (stopSwitch: StopSwitch) => Promise<Result>,
): Promise<Result> {
  const stopSwitch = new StopSwitch()
  if (runs.size === 0) listen()
  runs.set(stopSwitch, run)
  if (fatal !== undefined) stopSwitch.receive(fatal)
  try {
    return await work(stopSwitch)
  } finally {
    runs.delete(stopSwitch)
    if (runs.size === 0) stopListening()
    // The program must not continue between the ends of two runs.
    else if (fatal !== undefined) await allOver.promise
  }
}

function listen(): void {
  for (const [signal, listener] of listeners)
    if (!isIgnored(signal)) process.prependListener(signal, listener)
  process.on('exit', killAll)
}

function stopListening(): void {
  for (const [signal, listener] of listeners) process.off(signal, listener)
  process.off('exit', killAll)
  if (fatal === undefined) return
  process.kill(process.pid, fatal)
  // Reached if the program has added a listener in the meantime.
  fatal = undefined
  allOver.resolve()
  allOver = Promise.withResolvers()
}

/** For a program that calls `process.exit` during a run. */
function killAll(): void {
  for (const run of runs.values()) new RunProcesses(run, false).kill()
}
