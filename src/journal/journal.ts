import { rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { unfinishedPath, writeFileAtomic } from '../base/atomic-write.ts'
import { statOf } from '../base/files.ts'
import type { EventOf, OutputChunk, Stamp } from '../events/event.ts'
import type { RunEvent } from '../events/schema.ts'
import type { RunState } from '../events/state.ts'
import { Backlog } from './backlog.ts'
import { writeCheckpoint, type Checkpoint } from './checkpoint.ts'
import { EventFile } from './event-file.ts'
import { Logs } from './logs.ts'
import { OpenIterations } from './open-iterations.ts'
import { promptPath } from './places.ts'
import { writePlan, type RecordedPlan } from './plan-file.ts'
import { makeReceipt, receiptPath } from './receipt.ts'
import { Receipts } from './receipts.ts'
import { keepOutOfGit, makeFolder } from './record-folder.ts'
import { Syncer } from './syncer.ts'

const EVENTS = 'events.ndjson'

/** After so much a checkpoint is due. */
const CHECKPOINT_BYTES = 256 * 1024
const CHECKPOINT_EVENTS = 500

/** Without these a run would go on at another step after a power failure: nobody goes on before. */
const DURABLE: ReadonlySet<RunEvent['type']> = new Set<RunEvent['type']>([
  'step_ended',
  'jump',
  'run_ended',
])

/** These are safe a moment later: until then an iteration might come again, but no step. */
const SOON_DURABLE: ReadonlySet<RunEvent['type']> = new Set<RunEvent['type']>([
  'run_started',
  'run_resumed',
  'iteration_ended',
  'phase_ended',
  'task_ended',
])

/**
 * The record of a run on disk: every event a line of `events.ndjson`, the raw output in a log per
 * iteration to which the events refer, and a receipt for each attempt of an iteration.
 */
export class Journal {
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
  /** What is missing of the events, in words. */
  #damage: readonly string[]
  #isChanged = false
  /** Why something beside the events could not be written, until somebody asks. */
  #trouble: unknown

  constructor(
    folder: string,
    stamp: Stamp,
    { isDurable = true, damage = [] }: { isDurable?: boolean; damage?: readonly string[] } = {},
  ) {
    this.#folder = folder
    this.#syncer = isDurable ? new Syncer() : undefined
    this.#damage = damage
    this.#events = new EventFile(join(folder, EVENTS), () => this.#startOver())
    this.#logs = new Logs(folder, stamp, this.#syncer, (span) => this.#events.keep(span))
    this.#receipts = new Receipts(folder)
    this.#saved.length = this.#events.length
    this.#syncer?.later(folder, dirname(folder))
  }

  /** An event is kept where it cannot be written, and so is what belongs to it. */
  append(event: RunEvent): void {
    // What an agent says and does comes in thousands; it may wait for company like its output.
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
      keepOutOfGit(dirname(this.#folder))
    }
    this.#logs.write(chunk, this.#iterations.find(chunk.scope)?.started.round)
  }

  /** Keeps a prompt under its hash, once. */
  prompt(hash: string, text: string): void {
    const path = join(this.#folder, promptPath(hash))
    if (statOf(path) !== undefined) return
    this.#checkFolder()
    this.#backlog.write(path, () => {
      const changed = makeFolder(dirname(path))
      writeFileAtomic(path, text, { durable: false, mode: 0o600 })
      this.#syncer?.later(path, dirname(path), ...changed)
    })
  }

  /** Says what all events so far have come to. */
  checkpoint(state: RunState): void {
    const { length: offset, seq } = this.#events
    // What still waits to be written changes no state, so it may as well come after.
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

  /** What the events before have come to is in the checkpoint, from which a resume can go on. */
  #startOver(): void {
    this.#isChanged = true
    const { length: offset, seq } = this.#events
    if (this.#checkpoint === undefined) return
    const words = `another program changed the file of events, of which those up to ${seq} may be missing`
    this.#damage = [words]
    this.#checkpoint = { ...this.#checkpoint, offset, ...this.#damaged }
    this.#saveCheckpoint()
  }

  /** Whether every event is on the disk that is to be there. */
  get isWhole(): boolean {
    return !this.#events.isBehind
  }

  /** Whether files beside the events are still to be written. */
  get hasBacklog(): boolean {
    return !this.#backlog.isEmpty
  }

  get isDeleted(): boolean {
    return this.#events.isDeleted
  }

  /** Why something could not be written since the last call, where no event was. */
  takeTrouble(): unknown {
    const trouble = this.#trouble
    this.#trouble = undefined
    return trouble
  }

  /** Tries again what could not be written; where nothing follows, with what there is room for. */
  catchUp(isLast = false): void {
    this.#checkFolder()
    if (isLast) this.#events.writeLast()
    else this.#events.write()
    this.#sync()
    checkRoom(this.#folder)
    this.#backlog.retry()
    this.#logs.goOn()
  }

  /** Writes down what has been waiting for company; called now and then. */
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
  }

  /** Lets go of the files without writing anything more. */
  abandon(): void {
    this.#logs.abandon()
    this.#events.close()
    this.#receipts.discard()
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

  /** With the checkpoint it stands by itself, too: nobody has to look for it among the events. */
  #keepPlan({ type, version, plan }: EventOf<'run_started'> | EventOf<'run_resumed'>): void {
    if (plan === undefined) return
    this.#plan = { version, plan }
    // The copy of an earlier plan may be there already.
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
      this.#trouble ??= error
      return undefined
    }
  }

  /** An agent that cleans up may have taken the record away under our hands. */
  #checkFolder(): void {
    if (this.#events.isDeleted) throw new Error(`${this.#folder} was deleted`)
  }
}

/** So much must be free before files are written again. */
const ROOM_BYTES = 64 * 1024

/** Throws where there is no room. What was set aside for the events says nothing about that. */
function checkRoom(folder: string): void {
  const path = unfinishedPath(folder)
  try {
    writeFileSync(path, Buffer.alloc(ROOM_BYTES), { flag: 'wx', mode: 0o600 })
  } finally {
    rmSync(path, { force: true })
  }
}
