import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeFileAtomic } from '../base/atomic-write.ts'
import { statOf } from '../base/files.ts'

type Wish = 'stop' | 'retry-now'

/** Asks the process that drives a run for something, by a file in the run's folder. */
export function ask(folder: string, what: Wish): void {
  writeFileAtomic(wishPath(folder, what), '', { durable: false, mode: 0o600 })
}

/** What others have asked of the run that this process drives. */
export class Control {
  readonly #folder: string | undefined

  constructor(folder: string | undefined) {
    this.#folder = folder
  }

  get isStopAsked(): boolean {
    return this.#folder !== undefined && statOf(wishPath(this.#folder, 'stop')) !== undefined
  }

  /** Whether a wait is to end at once; each wish is told once. */
  takeRetryNow(): boolean {
    return this.#take('retry-now')
  }

  /** Forgets what was asked of the process before. */
  clear(): void {
    this.#take('stop')
    this.#take('retry-now')
  }

  #take(what: Wish): boolean {
    if (this.#folder === undefined) return false
    try {
      rmSync(wishPath(this.#folder, what))
      return true
    } catch {
      return false
    }
  }
}

function wishPath(folder: string, what: Wish): string {
  return join(folder, `asked-${what}`)
}
