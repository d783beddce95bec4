import { closeSync, constants, openSync, writeFileSync } from 'node:fs'
import { removeFileIn, withFileIn } from '../../base/places.ts'
import type { EventOf } from '../events/event.ts'
import { keyOf } from './open-iterations.ts'
import { iterationPath, type IterationPlace } from './paths.ts'
import type { Receipt } from './receipt.ts'

/** A receipt file that is empty until its iteration ends. */
interface Draft {
  /** Path inside of the record. */
  readonly name: string
  readonly fd: number
}

/**
 * The receipts of the running iterations. Their files are created while the agents work, because
 * creating a file is slow on some disks.
 */
export class Receipts {
  readonly #folder: string
  readonly #drafts = new Map<string, Draft>()

  constructor(folder: string) {
    this.#folder = folder
  }

  prepare(event: EventOf<'iteration_started'>): void {
    const key = keyOf(event.scope)
    if (!this.#drafts.has(key)) this.#drafts.set(key, openDraft(this.#folder, event))
  }

  /**
   * Replaces the receipt of an iteration whose end was never recorded. It is not synced, because it can
   * be rebuilt from the events.
   */
  write(scope: readonly string[], receipt: Receipt): void {
    const key = keyOf(scope)
    const { fd } = this.#drafts.get(key) ?? openDraft(this.#folder, receipt)
    this.#drafts.delete(key)
    try {
      writeFileSync(fd, `${JSON.stringify(receipt, null, 2)}\n`)
    } finally {
      closeSync(fd)
    }
  }

  /** Removes the empty receipts of iterations that have not ended. */
  discard(): void {
    for (const { name, fd } of this.#drafts.values()) {
      closeSync(fd)
      removeFileIn(this.#folder, name)
    }
    this.#drafts.clear()
  }
}

const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants
const FLAGS = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW

function openDraft(folder: string, place: IterationPlace): Draft {
  const name = `${iterationPath(place)}.json`
  return { name, fd: withFileIn(folder, name, (path) => openSync(path, FLAGS, 0o600)) }
}
