import { withoutSkips } from '../../base/awake.ts'
import { errorText } from '../../base/errors.ts'
import type { OutputChunk, Stamp } from '../events/event.ts'
import type { RunEvent } from '../events/schema.ts'
import type { RunState } from '../events/state.ts'
import { readCheckpoint } from './checkpoint.ts'
import { Journal } from './journal.ts'
import type { Origins } from './origins.ts'
import { makeRecordFolder, type RecordPlaces } from './record-folder.ts'
import { repairRecord } from './reopen.ts'
import { RunLock } from './run-lock.ts'

export interface RecordProblem {
  /**
   * `lost`: there is no record, or it was removed. `behind`: it cannot be written at the moment. `back`:
   * it can be written again. `gaps`: at the end, files other than the events are missing. `torn`: at the
   * end, events are missing. `changed`: another program has changed its events.
   */
  readonly kind: 'lost' | 'behind' | 'back' | 'gaps' | 'torn' | 'changed'
  readonly why: string
}

/**
 * The journal of a run. A record that cannot be written does not stop the run: failed writes are
 * retried, and a record that is lost is reported as a problem.
 */
export class RunRecord {
  #journal: Journal | undefined
  #lock: RunLock | undefined
  readonly #problems: RecordProblem[] = []
  /** The kinds of problems reported so far; each is reported once. */
  readonly #reported = new Set<RecordProblem['kind']>()
  /** Why the record cannot be written at the moment. */
  #behind: string | undefined
  /** The first such reason. */
  #firstWhy = ''
  #hasLostOutput = false
  /** Undefined if there is no record. */
  readonly folder: string | undefined
  readonly #origins: Origins

  private constructor(origins: Origins, open: (record: RunRecord) => string | undefined) {
    this.#origins = origins
    this.folder = this.#guard(() => open(this))
    if (this.folder === undefined) this.#releaseLock()
  }

  static begin(places: RecordPlaces, run: string, stamp: Stamp): RunRecord {
    return new RunRecord(places.origins, (record) => {
      const [root] = places.roots
      if (root === undefined) throw new Error('HOME is not an absolute path')
      const folder = makeRecordFolder(root, run)
      places.origins.sign(folder, undefined)
      const lock = RunLock.take(folder)
      if (!(lock instanceof RunLock)) throw new Error(`${folder} belongs to process ${lock.pid}`)
      record.#lock = lock
      record.#open(folder, stamp)
      return folder
    })
  }

  /** Continues the record of a run that another process left. */
  static reopen(folder: string, stamp: Stamp, lock: RunLock, origins: Origins): RunRecord {
    return new RunRecord(origins, (record) => {
      record.#lock = lock
      repairRecord(folder)
      record.#open(folder, stamp, readCheckpoint(folder)?.damage)
      return folder
    })
  }

  static none({ origins }: RecordPlaces): RunRecord {
    return new RunRecord(origins, () => undefined)
  }

  #open(folder: string, stamp: Stamp, damage: readonly string[] = []): void {
    this.#journal = new Journal(folder, stamp, {
      damage,
      onError: (error) => this.#fallBehind(errorText(error)),
      onChanged: () => this.#report('changed', ''),
    })
  }

  /** Where the record is now, even if it was moved; undefined if it is lost. */
  get place(): string | undefined {
    return this.#journal?.place
  }

  append(event: RunEvent): void {
    if (event.type === 'run_started' || event.type === 'run_resumed') this.#sign(event.plan)
    this.#guard(() => this.#journal?.append(event))
  }

  output(chunk: OutputChunk): void {
    const isTaken = this.#guard(() => this.#journal?.output(chunk) ?? true)
    if (isTaken === undefined) this.#hasLostOutput = true
  }

  /** Saves a prompt once per hash; receipts refer to it. */
  prompt(hash: string, text: string): void {
    this.#guard(() => this.#journal?.prompt(hash, text))
  }

  /** Takes the state after all appended events; saved from time to time. */
  checkpoint(state: RunState): void {
    if (this.#journal?.isWhole === true) this.#journal.checkpoint(state)
  }

  /** Called regularly, even while only output arrives. */
  flush(): void {
    this.#restoreLock()
    if (this.#behind === undefined) this.#guard(() => this.#journal?.flush())
    else this.#catchUp()
  }

  /** Called before the end of the run is reported: anything still missing is a problem. */
  settle(): void {
    if (this.#behind !== undefined) this.#catchUp()
    if (this.#journal === undefined) return
    if (!this.#journal.isWhole) this.#report('torn', this.#behind ?? '')
    else if (this.#hasLostOutput || this.#journal.hasUnwritten) this.#report('gaps', this.#firstWhy)
  }

  /** Also releases the lock, which is held to the end even if the record was lost. */
  close(): void {
    if (this.#behind !== undefined) this.#catchUp(true)
    this.#guard(() => this.#journal?.close())
    if (this.#journal?.isWhole === false) this.#report('torn', this.#behind ?? '')
    this.#releaseLock()
  }

  /** Why the record could not be created. */
  get whyMissing(): string | undefined {
    return this.folder === undefined ? this.#problems[0]?.why : undefined
  }

  /** Problems since the last call, and resolved ones. */
  takeProblems(): RecordProblem[] {
    return this.#problems.splice(0)
  }

  /** Signs before the plan is written, so that no plan in a record is ever unsigned. */
  #sign(plan: unknown): void {
    if (this.folder !== undefined && plan !== undefined) this.#origins.sign(this.folder, plan)
  }

  #catchUp(isLast = false): void {
    const journal = this.#journal
    const isBack = this.#guard(() => {
      journal?.catchUp(isLast)
      return true
    })
    if (isBack !== true) return
    this.#report('back', this.#firstWhy)
    this.#behind = undefined
  }

  #restoreLock(): void {
    try {
      this.#lock?.restore()
      this.#lock?.beat(withoutSkips())
    } catch {
      // The lock of the folder still shows that the run is driven.
    }
  }

  #releaseLock(): void {
    try {
      this.#lock?.release()
    } catch {
      // The lock is ignored once this process has ended.
    }
  }

  #guard<T>(write: () => T): T | undefined {
    try {
      return write()
    } catch (error) {
      if (this.#journal === undefined || this.#journal.isDeleted) this.#lose(error)
      else this.#fallBehind(errorText(error))
      return undefined
    }
  }

  #fallBehind(why: string): void {
    this.#behind = why
    this.#firstWhy ||= why
    this.#report('behind', why)
  }

  #report(kind: RecordProblem['kind'], why: string): void {
    if (!this.#reported.has(kind)) this.#problems.push({ kind, why })
    this.#reported.add(kind)
  }

  #lose(error: unknown): void {
    const journal = this.#journal
    this.#journal = undefined
    this.#behind = undefined
    this.#report('lost', errorText(error))
    try {
      journal?.abandon()
    } catch {
      // The problem is already reported.
    }
  }
}
