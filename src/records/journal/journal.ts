import { rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { unfinishedPath, writeFileAtomic } from '../../base/atomic-write.ts'
import { statOf } from '../../base/files.ts'
import { KeptFolder, withFileIn } from '../../base/places.ts'
import { keepOutOfGit } from '../../base/private-folder.ts'
import type { EventOf, OutputChunk, Stamp } from '../events/event.ts'
import type { RunEvent } from '../events/schema.ts'
import type { RunState } from '../events/state.ts'
import { Backlog } from './backlog.ts'
import { writeCheckpoint, type Checkpoint } from './checkpoint.ts'
import { EventFile } from './event-file.ts'
import { Logs } from './logs.ts'
import { OpenIterations } from './open-iterations.ts'
import { promptPath } from './paths.ts'
import { writePlan, type RecordedPlan } from './plan-file.ts'
import { makeReceipt, receiptPath } from './receipt.ts'
import { Receipts } from './receipts.ts'
import { changedBy } from './record-folder.ts'
import { Syncer } from './syncer.ts'

const EVENTS = 'events.ndjson'

/** A checkpoint is due after this many bytes or events. */
const CHECKPOINT_BYTES = 256 * 1024
const CHECKPOINT_EVENTS = 500

/** The run waits until these are on disk: without them it would resume at another step after a power failure. */
const DURABLE: ReadonlySet<RunEvent['type']> = new Set<RunEvent['type']>([
  'step_ended',
  'jump',
  'run_ended',
])

/** Synced in the background: a power failure may repeat an iteration, but not a step. */
const SOON_DURABLE: ReadonlySet<RunEvent['type']> = new Set<RunEvent['type']>([
  'run_started',
  'run_resumed',
  'iteration_ended',
  'phase_ended',
  'task_ended',
])

/**
 * The record of a run on disk: events as lines of `events.ndjson`, a log of the raw output per
 * iteration, and a receipt per attempt of an iteration.
 */
export class Journal {
  /** By the name with which it began. */
  readonly #name: string
  readonly #kept: KeptFolder
  /** The folder itself, which an agent may move, or replace by a link. */
  readonly #folder: string
  readonly #syncer: Syncer | undefined
  readonly #events: EventFile
  readonly #logs: Logs
  readonly #iterations = new OpenIterations()
  readonly #receipts: Receipts
  /** Files that could not be written yet. */
  readonly #backlog = new Backlog()
  #checkpoint: Checkpoint | undefined
  /** Length of the file and count of events at the last checkpoint. */
  #saved = { length: 0, count: 0 }
  #plan: RecordedPlan | undefined
  /** Descriptions of missing events. */
  #damage: readonly string[]
  #isChanged = false
  /** Why a file other than the events could not be written; cleared by `takeError`. */
  #error: unknown

  constructor(
    folder: string,
    stamp: Stamp,
    { isDurable = true, damage = [] }: { isDurable?: boolean; damage?: readonly string[] } = {},
  ) {
    this.#name = folder
    this.#kept = new KeptFolder(folder)
    this.#folder = this.#kept.path
    this.#syncer = isDurable ? new Syncer() : undefined
    this.#damage = damage
    this.#events = new EventFile(join(this.#folder, EVENTS), () => this.#startOver())
    this.#logs = new Logs(this.#folder, stamp, this.#syncer, (span) => this.#events.keep(span))
    this.#receipts = new Receipts(this.#folder)
    this.#saved.length = this.#events.length
    this.#syncer?.later(folder, dirname(folder))
  }

  /** Throws if the event cannot be written; it is kept and written later. */
  append(event: RunEvent): void {
    // There may be thousands of these, so they are batched like the output.
    if (event.type === 'message' || event.type === 'tool') return this.#events.keep(event)
    this.#attempt(() => this.#logs.endSpans())
    this.#iterations.note(event)
    if (event.type === 'run_started' || event.type === 'run_resumed') this.#keepPlan(event)
    if (event.type === 'iteration_ended') this.#endIteration(event)
    if (event.type === 'task_ended') this.#attempt(() => this.#logs.end(event.scope))
    this.#events.keep(event)
    if (this.#events.isBehind) return
    this.#events.write()
    if (event.type === 'iteration_started') this.#prepareReceipt(event)
    if (DURABLE.has(event.type)) this.#sync()
    else if (SOON_DURABLE.has(event.type)) this.#syncer?.later(this.#eventsPath)
  }

  output(chunk: OutputChunk): void {
    if (!this.#logs.has(chunk.scope)) {
      this.#checkFolder()
      if (this.#kept.isAt(this.#name)) keepOutOfGit(dirname(this.#name))
    }
    this.#logs.write(chunk, this.#iterations.find(chunk.scope)?.started.round)
  }

  /** Saves a prompt under its hash, once. */
  prompt(hash: string, text: string): void {
    const path = join(this.#folder, promptPath(hash))
    if (statOf(path) !== undefined) return
    this.#checkFolder()
    this.#backlog.write(path, () => {
      const name = promptPath(hash)
      const changed = changedBy(this.#folder, name)
      withFileIn(this.#folder, name, (opened) =>
        writeFileAtomic(opened, text, { durable: false, mode: 0o600 }),
      )
      this.#syncer?.later(path, dirname(path), ...changed)
    })
  }

  /** Takes the state after all events so far for the next checkpoint. */
  checkpoint(state: RunState): void {
    const { length: offset, seq } = this.#events
    // Events that are not written yet change no state, so they may follow the checkpoint.
    if (seq > 0) this.#checkpoint = { offset, seq, state, ...this.#damaged }
  }

  get #damaged(): { readonly damage?: readonly string[] } {
    return this.#damage.length === 0 ? {} : { damage: this.#damage }
  }

  /** Whether another program has changed the events since the last call. */
  takeChange(): boolean {
    const isChanged = this.#isChanged
    this.#isChanged = false
    return isChanged
  }

  /** Saves a checkpoint with the state before the change, from which a resume can continue. */
  #startOver(): void {
    this.#isChanged = true
    const { length: offset, seq } = this.#events
    if (this.#checkpoint === undefined) return
    this.#damage = [`another program changed events.ndjson; events up to ${seq} may be missing`]
    this.#checkpoint = { ...this.#checkpoint, offset, ...this.#damaged }
    this.#saveCheckpoint()
  }

  /** Whether all events are on disk. */
  get isWhole(): boolean {
    return !this.#events.isBehind
  }

  /** Whether files other than the events still have to be written. */
  get hasBacklog(): boolean {
    return !this.#backlog.isEmpty
  }

  /** Where the record is now; undefined if it was removed. */
  get place(): string | undefined {
    return this.#events.place
  }

  get isDeleted(): boolean {
    return this.#events.isDeleted
  }

  /** Why a file other than the events could not be written since the last call. */
  takeError(): unknown {
    const error = this.#error
    this.#error = undefined
    return error
  }

  /** Retries failed writes; the last time, drops events that change no state if necessary. */
  catchUp(isLast = false): void {
    this.#checkFolder()
    if (isLast) this.#events.writeLast()
    else this.#events.write()
    this.#sync()
    checkDiskSpace(this.#folder)
    this.#backlog.retry()
    this.#logs.resume()
  }

  /** Writes batched events, and a checkpoint if one is due; called regularly. */
  flush(): void {
    this.#events.check()
    this.#logs.endSpans(true)
    this.#events.write()
    const { length, count } = this.#events
    const isDue =
      length - this.#saved.length > CHECKPOINT_BYTES ||
      count - this.#saved.count > CHECKPOINT_EVENTS
    if (isDue) this.#saveCheckpoint()
  }

  close(): void {
    this.#events.check(true)
    this.#logs.close()
    this.#receipts.discard()
    this.#events.write()
    if (this.#events.count > this.#saved.count) this.#saveCheckpoint()
    this.#events.close()
    this.#syncer?.finish()
    this.#kept.close()
  }

  /** Closes the files without writing anything more. */
  abandon(): void {
    this.#logs.abandon()
    this.#events.close()
    this.#receipts.discard()
    this.#kept.close()
  }

  #prepareReceipt(event: EventOf<'iteration_started'>): void {
    this.#checkFolder()
    this.#attempt(() => this.#receipts.prepare(event))
  }

  #endIteration(event: EventOf<'iteration_ended'>): void {
    this.#checkFolder()
    const log = this.#attempt(() => this.#logs.end(event.scope))
    if (!this.#events.isBehind) this.#attempt(() => this.#events.write())
    const open = this.#iterations.find(event.scope)
    this.#iterations.end(event.scope)
    const receipt = makeReceipt(this.#folder, open, event, log)
    const write = () => this.#receipts.write(event.scope, receipt)
    this.#attempt(() => this.#backlog.write(receiptPath(this.#folder, receipt), write))
  }

  /** The plan gets a file of its own together with the checkpoint, so that readers need not search the events. */
  #keepPlan({ type, version, plan }: EventOf<'run_started'> | EventOf<'run_resumed'>): void {
    if (plan === undefined) return
    this.#plan = { version, plan }
    // The file may contain an earlier plan.
    if (type === 'run_resumed') this.#attempt(() => this.#savePlan())
  }

  #savePlan(): void {
    if (this.#plan !== undefined) writePlan(this.#folder, this.#plan)
    this.#plan = undefined
  }

  #sync(): void {
    if (this.#syncer !== undefined) this.#events.sync()
  }

  get #eventsPath(): string {
    return join(this.#folder, EVENTS)
  }

  #saveCheckpoint(): void {
    if (this.#checkpoint === undefined) return
    const { length, count } = this.#events
    this.#saved = { length, count }
    this.#savePlan()
    writeCheckpoint(this.#folder, this.#checkpoint)
  }

  #attempt<Result>(job: () => Result): Result | undefined {
    try {
      return job()
    } catch (error) {
      this.#error ??= error
      return undefined
    }
  }

  /** An agent that cleans up may have deleted the record. */
  #checkFolder(): void {
    if (this.#events.isDeleted) throw new Error(`${this.#name} was deleted`)
  }
}

/** This much must be free before files are written again. */
const FREE_BYTES = 64 * 1024

/** Throws if the disk is full. A write of events does not show that, as it may use the reserved space. */
function checkDiskSpace(folder: string): void {
  const path = unfinishedPath(folder)
  try {
    writeFileSync(path, Buffer.alloc(FREE_BYTES), { flag: 'wx', mode: 0o600 })
  } finally {
    rmSync(path, { force: true })
  }
}
