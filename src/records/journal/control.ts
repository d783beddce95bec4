import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeFileAtomic } from '../../base/atomic-write.ts'
import { statOf } from '../../base/files.ts'
import { withFileIn } from '../../base/places.ts'

type Request = 'stop' | 'retry-now'

/** Sends a request to the process that drives a run, as a file in the run's folder. */
export function sendRequest(folder: string, what: Request): void {
  withFileIn(folder, requestName(what), (path) =>
    writeFileAtomic(path, '', { durable: false, mode: 0o600 }),
  )
}

/** Requests to the run that this process drives. */
export class Control {
  readonly #folder: string | undefined

  constructor(folder: string | undefined) {
    this.#folder = folder
  }

  get isStopRequested(): boolean {
    return (
      this.#folder !== undefined && statOf(join(this.#folder, requestName('stop'))) !== undefined
    )
  }

  /** Whether a wait should end now; each request is returned once. */
  takeRetryNow(): boolean {
    return this.#take('retry-now')
  }

  /** Drops requests to an earlier process. */
  clear(): void {
    this.#take('stop')
    this.#take('retry-now')
  }

  #take(what: Request): boolean {
    if (this.#folder === undefined) return false
    try {
      withFileIn(this.#folder, requestName(what), (path) => rmSync(path))
      return true
    } catch {
      return false
    }
  }
}

function requestName(what: Request): string {
  return `asked-${what}`
}
