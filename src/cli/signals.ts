import { readFileSync } from 'node:fs'
import type { StopSignal } from '../run/ports.ts'

/** Turns signals into the two words that a run understands: stop, and at once. */
export class StopSwitch {
  readonly #stop = new AbortController()
  readonly #force = new AbortController()

  get stop(): AbortSignal {
    return this.#stop.signal
  }
  get force(): AbortSignal {
    return this.#force.signal
  }

  /** The first call stops the run; any further one says that nothing is to be waited for. */
  press(signal: StopSignal): void {
    if (this.#stop.signal.aborted) this.#force.abort()
    else this.#stop.abort(signal)
  }

  /** Stops the run like SIGTERM, however often it is called: nobody reads what it says. */
  outputClosed(): void {
    if (!this.#stop.signal.aborted) this.press('SIGTERM')
  }

  listen(): void {
    const signals: StopSignal[] = ['SIGINT', 'SIGTERM']
    // Under nohup the user asked for it; the other two are ignored in a shell's background jobs.
    if (!isIgnored(SIGHUP)) signals.push('SIGHUP')
    for (const signal of signals) process.on(signal, () => this.press(signal))
  }
}

const SIGHUP = 1

function isIgnored(signal: number): boolean {
  if (process.platform !== 'linux') return false
  const mask = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
  return mask !== undefined && (BigInt(`0x${mask}`) & (1n << BigInt(signal - 1))) !== 0n
}
