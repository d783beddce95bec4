import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { stopReason, type StopSignal } from '../run/ports.ts'

const STOP_SIGNALS: readonly StopSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']

/** By default they end a process too. `timeout`, limits of CPU time and supervisors send them. */
const OTHER_SIGNALS = [
  'SIGABRT',
  'SIGALRM',
  'SIGIO',
  'SIGPROF',
  'SIGSYS',
  'SIGVTALRM',
  'SIGXCPU',
] as const

export type CaughtSignal = StopSignal | (typeof OTHER_SIGNALS)[number]

export const CAUGHT_SIGNALS: readonly CaughtSignal[] = [...STOP_SIGNALS, ...OTHER_SIGNALS]

/** Turns signals into the two that a run understands: stop, and stop at once. */
export class StopSwitch {
  readonly #stop = new AbortController()
  readonly #force = new AbortController()

  get stop(): AbortSignal {
    return this.#stop.signal
  }
  get force(): AbortSignal {
    return this.#force.signal
  }

  /** The first call stops the run; any further one ends it at once. */
  press(signal: StopSignal, words?: string): void {
    if (this.#stop.signal.aborted || signal === 'SIGQUIT') this.#force.abort()
    if (!this.#stop.signal.aborted) this.#stop.abort(stopReason(signal, words))
  }

  /** What a signal to this process does to its run. */
  receive(signal: CaughtSignal): void {
    const known = STOP_SIGNALS.find((each) => each === signal)
    if (known !== undefined) this.press(known)
    // A limit of CPU time sends its signal every second.
    else this.stopOnce(`interrupted by ${signal}`)
  }

  /** Stops the run like SIGTERM; further calls do nothing. */
  stopOnce(words: string): void {
    if (!this.#stop.signal.aborted) this.press('SIGTERM', words)
  }

  /** `onFirst` is called with the first signal. */
  listen(onFirst: (signal: CaughtSignal) => void): void {
    for (const signal of CAUGHT_SIGNALS) {
      // Under nohup, SIGHUP must not stop the run. Shells make background jobs ignore these, so they still count.
      const isAlways = signal === 'SIGINT' || signal === 'SIGTERM' || signal === 'SIGQUIT'
      if (!isAlways && isIgnored(signal)) continue
      process.on(signal, () => {
        if (!this.#stop.signal.aborted) onFirst(signal)
        this.receive(signal)
      })
    }
  }
}

/** Whether this process was started with the signal ignored. */
export function isIgnored(signal: CaughtSignal): boolean {
  if (process.platform !== 'linux') return false
  const mask = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
  const bit = 1n << BigInt(constants.signals[signal] - 1)
  return mask !== undefined && (BigInt(`0x${mask}`) & bit) !== 0n
}
