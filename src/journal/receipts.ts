import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { errorCode } from '../base/errors.ts'
import type { EventOf } from '../events/event.ts'
import { keyOf } from './open-iterations.ts'
import type { IterationPlace } from './places.ts'
import { receiptPath, type Receipt } from './receipt.ts'
import { makeFolder } from './record-folder.ts'

/** A receipt that is empty until its iteration is over. */
interface Draft {
  readonly path: string
  readonly fd: number
}

/**
 * The receipts of the iterations that run now. The file of each is made while its agent works: some
 * disks take longer for a new file than for all else that an iteration leaves, and nobody waits then.
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
   * Where a receipt is there already, its iteration was never recorded as over: it is replaced. It
   * tells what the events tell, so that it need not survive a power failure where they do.
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

  /** Of an iteration that has no end there is none. */
  discard(): void {
    for (const { path, fd } of this.#drafts.values()) {
      closeSync(fd)
      rmSync(path, { force: true })
    }
    this.#drafts.clear()
  }
}

function openDraft(folder: string, place: IterationPlace): Draft {
  const path = receiptPath(folder, place)
  try {
    return { path, fd: openSync(path, 'w', 0o600) }
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
    makeFolder(dirname(path))
    return { path, fd: openSync(path, 'w', 0o600) }
  }
}
