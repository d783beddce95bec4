import { isIgnored, StopSwitch } from '../host/stop-switch.ts'
import type { StopSignal } from '../run/ports.ts'
import { RunProcesses } from '../run/process/run-processes.ts'

const SIGNALS: readonly StopSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']

/** The runs that a signal stops. */
const runs = new Map<StopSwitch, string>()
/** The signal that ends the program after its runs, because the program has no listener for it. */
let fatal: StopSignal | undefined
let allOver = Promise.withResolvers<void>()

const listeners = SIGNALS.map((signal) => {
  const listener = () => {
    // Ours is called first, while a `once` listener of the program still counts.
    if (process.listenerCount(signal) === 1) fatal ??= signal
    for (const stopSwitch of runs.keys()) stopSwitch.press(signal)
  }
  return [signal, listener] as const
})

/**
 * The first signal stops the run, the second one kills its agents. Afterwards the signal ends the program,
 * unless the program listens for it.
 */
export async function withSignalHandlers<Result>(
  run: string,
  work: (stopSwitch: StopSwitch) => Promise<Result>,
): Promise<Result> {
  const stopSwitch = new StopSwitch()
  if (runs.size === 0) listen()
  runs.set(stopSwitch, run)
  if (fatal !== undefined) stopSwitch.press(fatal)
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
