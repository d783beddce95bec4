import { errorText } from '../base/errors.ts'
import type { OutputChunk, Stamp } from '../events/event.ts'
import type { RunEvent } from '../events/schema.ts'
import type { RunState } from '../events/state.ts'
import { readCheckpoint } from './checkpoint.ts'
import { Journal } from './journal.ts'
import { makeRecordFolder, type RecordPlaces } from './record-folder.ts'
import { mendRecord } from './reopen.ts'
import { RunLock } from './run-lock.ts'
import { pruneRuns, type WhyWanted } from './runs.ts'

/** So many of the newest runs are kept. */
const KEPT_RUNS = 50

/** What is wrong with a record. */
export interface Trouble {
  /**
   * `lost`: there is none, or none any more. `behind`: it cannot be written now. `back`: it can be
   * again. `gaps`: at the end, something beside events is missing. `torn`: at the end, events are.
   * `changed`: another program has changed its events.
   */
  readonly kind: 'lost' | 'behind' | 'back' | 'gaps' | 'torn' | 'changed'
  readonly why: string
}

/**
 * The journal of a run, or nothing where it cannot be written: the work is worth more. What a disk has
 * no room for now is kept, and written when there is room.
 */
export class RunRecord {
  #journal: Journal | undefined
  #lock: RunLock | undefined
  readonly #troubles: Trouble[] = []
  /** Why it cannot be written now. */
  #behind: string | undefined
  /** Why it was behind at first; that it comes and goes is told once. */
  #firstWhy: string | undefined
  #hasLostOutput = false
  #isTornTold = false
  #isBackTold = false
  #isChangeTold = false
  /** Absent where the record could not be begun. */
  readonly folder: string | undefined

  private constructor(open: (record: RunRecord) => string) {
    this.folder = this.#guard(() => open(this))
    if (this.folder === undefined) this.#releaseLock()
  }

  /** Begins the record of a new run; old ones are removed, but for those that are wanted. */
  static begin(places: RecordPlaces, run: string, stamp: Stamp, whyWanted?: WhyWanted): RunRecord {
    return new RunRecord((record) => {
      const [root] = places.roots
      if (root === undefined) throw new Error('HOME is not an absolute path')
      const folder = makeRecordFolder(root, run)
      places.origins.sign(folder)
      const lock = RunLock.take(folder)
      if (!(lock instanceof RunLock)) throw new Error(`${folder} belongs to process ${lock.pid}`)
      record.#lock = lock
      record.#journal = new Journal(folder, stamp)
      pruneQuietly({ ...places, roots: [root] }, whyWanted)
      return folder
    })
  }

  /** Goes on with the record of a run that another process has left. */
  static reopen(folder: string, stamp: Stamp, lock: RunLock): RunRecord {
    return new RunRecord((record) => {
      record.#lock = lock
      mendRecord(folder)
      record.#journal = new Journal(folder, stamp, { damage: readCheckpoint(folder)?.damage ?? [] })
      return folder
    })
  }

  append(event: RunEvent): void {
    this.#guard(() => this.#journal?.append(event))
  }

  output(chunk: OutputChunk): void {
    const isTaken = this.#guard(() => this.#journal?.output(chunk) ?? true)
    if (isTaken === undefined) this.#hasLostOutput = true
  }

  /** Kept once for each hash, for the receipts to refer to. */
  prompt(hash: string, text: string): void {
    this.#guard(() => this.#journal?.prompt(hash, text))
  }

  /** What all that was appended comes to; written down now and then. */
  checkpoint(state: RunState): void {
    if (this.#journal?.isWhole === true) this.#journal.checkpoint(state)
  }

  /** Called now and then while an agent speaks without anything else happening. */
  flush(): void {
    if (this.#behind === undefined) this.#guard(() => this.#journal?.flush())
    else this.#catchUp()
  }

  /** Called before the run tells its end: what is missing by then is trouble. */
  settle(): void {
    if (this.#behind !== undefined) this.#catchUp()
    if (this.#journal === undefined) return
    const hasGaps = this.#hasLostOutput || this.#journal.hasBacklog
    if (!this.#journal.isWhole) this.#tellTorn()
    else if (hasGaps) this.#troubles.push({ kind: 'gaps', why: this.#firstWhy ?? '' })
  }

  /** Whoever drives a run has its lock to the end, even where the record was lost on the way. */
  close(): void {
    if (this.#behind !== undefined) this.#catchUp(true)
    this.#guard(() => this.#journal?.close())
    if (this.#journal?.isWhole === false) this.#tellTorn()
    this.#releaseLock()
  }

  /** Why there is none, where it could not be begun. */
  get whyMissing(): string | undefined {
    return this.folder === undefined ? this.#troubles[0]?.why : undefined
  }

  /** What went wrong, or well again, since the last call. */
  takeTroubles(): Trouble[] {
    return this.#troubles.splice(0)
  }

  #catchUp(isLast = false): void {
    const journal = this.#journal
    const isBack = this.#guard(() => {
      journal?.catchUp(isLast)
      return true
    })
    if (isBack !== true) return
    if (!this.#isBackTold) this.#troubles.push({ kind: 'back', why: this.#firstWhy ?? '' })
    this.#isBackTold = true
    this.#behind = undefined
  }

  #releaseLock(): void {
    try {
      this.#lock?.release()
    } catch {
      // Once this process is gone it counts for nothing.
    }
  }

  #guard<T>(write: () => T): T | undefined {
    const journal = this.#journal
    try {
      const result = write()
      if (journal?.takeChange() === true) this.#tellChanged()
      const trouble = journal?.takeTrouble()
      if (trouble !== undefined) this.#fallBehind(errorText(trouble))
      return result
    } catch (error) {
      if (journal === undefined || journal.isDeleted) this.#lose(journal, error)
      else this.#fallBehind(errorText(error))
      return undefined
    }
  }

  #fallBehind(why: string): void {
    this.#behind = why
    if (this.#firstWhy === undefined) this.#troubles.push({ kind: 'behind', why })
    this.#firstWhy ??= why
  }

  #tellChanged(): void {
    if (!this.#isChangeTold) this.#troubles.push({ kind: 'changed', why: '' })
    this.#isChangeTold = true
  }

  #tellTorn(): void {
    if (this.#isTornTold) return
    this.#isTornTold = true
    this.#troubles.push({ kind: 'torn', why: this.#behind ?? '' })
  }

  #lose(journal: Journal | undefined, error: unknown): void {
    this.#journal = undefined
    this.#behind = undefined
    this.#troubles.push({ kind: 'lost', why: errorText(error) })
    try {
      journal?.abandon()
    } catch {
      // Its files are beyond help; what matters has been said.
    }
  }
}

/** Records that cannot be removed are no reason to go without one. */
function pruneQuietly(places: RecordPlaces, whyWanted?: WhyWanted): void {
  try {
    pruneRuns(places, KEPT_RUNS, whyWanted)
  } catch {
    // They are tried again by the next run.
  }
}
