import { errorText } from '../base/errors.ts'
import type { OutputChunk, Stamp } from '../events/event.ts'
import type { RunEvent } from '../events/schema.ts'
import type { RunState } from '../events/state.ts'
import { Journal } from './journal.ts'
import { makeRecordFolder } from './record-folder.ts'
import { mendRecord } from './reopen.ts'
import { RunLock } from './run-lock.ts'
import { pruneRuns, type WhyWanted } from './runs.ts'

/** So many of the newest runs are kept. */
const KEPT_RUNS = 50

/** The journal of a run, or nothing where it cannot be written: the work is worth more. */
export class RunRecord {
  #journal: Journal | undefined
  #lock: RunLock | undefined
  #trouble: string | undefined
  /** Absent where the record could not be begun. */
  readonly folder: string | undefined

  private constructor(open: (record: RunRecord) => string) {
    this.folder = this.#guard(() => open(this))
    if (this.folder === undefined) this.#releaseLock()
  }

  /** Begins the record of a new run; old ones are removed, but for those that are wanted. */
  static begin(
    root: string | undefined,
    run: string,
    stamp: Stamp,
    whyWanted?: WhyWanted,
  ): RunRecord {
    return new RunRecord((record) => {
      if (root === undefined) throw new Error('HOME is no absolute path')
      const folder = makeRecordFolder(root, run)
      const lock = RunLock.take(folder)
      if (!(lock instanceof RunLock)) throw new Error(`${folder} belongs to process ${lock.pid}`)
      record.#lock = lock
      record.#journal = new Journal(folder, stamp)
      pruneQuietly(root, whyWanted)
      return folder
    })
  }

  /** Goes on with the record of a run that another process has left. */
  static reopen(folder: string, stamp: Stamp, lock: RunLock): RunRecord {
    return new RunRecord((record) => {
      record.#lock = lock
      mendRecord(folder)
      record.#journal = new Journal(folder, stamp)
      return folder
    })
  }

  append(event: RunEvent): void {
    this.#guard(() => this.#journal?.append(event))
  }

  output(chunk: OutputChunk): void {
    this.#guard(() => this.#journal?.output(chunk))
  }

  /** Kept once for each hash, for the receipts to refer to. */
  prompt(hash: string, text: string): void {
    this.#guard(() => this.#journal?.prompt(hash, text))
  }

  /** What all that was appended comes to; written down now and then. */
  checkpoint(state: RunState): void {
    this.#journal?.checkpoint(state)
  }

  /** Called now and then while an agent speaks without anything else happening. */
  flush(): void {
    this.#guard(() => this.#journal?.flush())
  }

  /** Whoever drives a run has its lock to the end, even where the record was lost on the way. */
  close(): void {
    this.#guard(() => this.#journal?.close())
    this.#releaseLock()
  }

  /** What went wrong and was not told yet. */
  get trouble(): string | undefined {
    return this.#trouble
  }

  /** What went wrong since the last call, once. */
  takeTrouble(): string | undefined {
    const trouble = this.#trouble
    this.#trouble = undefined
    return trouble
  }

  #releaseLock(): void {
    try {
      this.#lock?.release()
    } catch {
      // Once this process is gone it counts for nothing.
    }
  }

  #guard<T>(write: () => T): T | undefined {
    try {
      return write()
    } catch (error) {
      const journal = this.#journal
      this.#journal = undefined
      this.#trouble = errorText(error)
      try {
        journal?.abandon()
      } catch {
        // Its files are beyond help; what matters has been said.
      }
      return undefined
    }
  }
}

/** Records that cannot be removed are no reason to go without one. */
function pruneQuietly(root: string, whyWanted?: WhyWanted): void {
  try {
    pruneRuns(root, KEPT_RUNS, whyWanted)
  } catch {
    // They are tried again by the next run.
  }
}
