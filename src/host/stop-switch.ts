import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { stopReason, type StopSignal } from '../run/ports.ts'

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

  /** Stops the run like SIGTERM; further calls do nothing. */
  outputClosed(words: string): void {
    if (!this.#stop.signal.aborted) this.press('SIGTERM', words)
  }

  /** `onFirst` is called with the first signal. */
  listen(onFirst: (signal: StopSignal) => void): void {
    const signals: StopSignal[] = ['SIGINT', 'SIGTERM', 'SIGQUIT']
    // Under nohup, SIGHUP must not stop the run. Shells make background jobs ignore the other signals, so those
    // still count.
    if (!isIgnored('SIGHUP')) signals.push('SIGHUP')
    for (const signal of signals) {
      process.on(signal, () => {
        if (!this.#stop.signal.aborted) onFirst(signal)
        this.press(signal)
      })
    }
  }
}

/** Whether this process was started with the signal ignored. */
export function isIgnored(signal: StopSignal): boolean {
  if (process.platform !== 'linux') return false
  const mask = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
  const bit = 1n << BigInt(constants.signals[signal] - 1)
  return mask !== undefined && (BigInt(`0x${mask}`) & bit) !== 0n
}
