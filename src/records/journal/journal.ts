import { closeSync, fsyncSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { unfinishedPath, writeFileAtomic } from '../../base/atomic-write.ts'
import { statOf } from '../../base/files.ts'
import { KeptFolder, withFileIn } from '../../base/places.ts'
import { keepOutOfGit } from '../../base/private-folder.ts'
import type { EventOf, OutputChunk, Stamp } from '../events/event.ts'
import type { RunEvent } from '../events/schema.ts'
import type { RunState } from '../events/state.ts'
import { writeCheckpoint, type Checkpoint } from './checkpoint.ts'
import { EventFile } from './event-file.ts'
import { Logs } from './logs.ts'
import { promptPath } from './paths.ts'
import { eventsPath, PLAN } from './read-run.ts'
import { OpenIterations, receiptPath } from './receipt.ts'

/** A checkpoint is due after this many bytes of events. */
const CHECKPOINT_BYTES = 256 * 1024

/**
 * The run waits until these are on disk: without them, a resume after a power failure would start at another
 * step.
 */
const DURABLE: ReadonlySet<RunEvent['type']> = new Set<RunEvent['type']>([
  'step_ended',
  'jump',
  'run_ended',
])

/** Synced by the next `flush`: a power failure may repeat an iteration, but not a step. */
const SOON_DURABLE: ReadonlySet<RunEvent['type']> = new Set<RunEvent['type']>([
  'run_started',
  'run_resumed',
  'iteration_ended',
  'phase_ended',
  'task_ended',
])

/** At most this many files are kept for a retry; receipts can be rebuilt from the events. */
const MOST_UNWRITTEN = 1000

interface Options {
  /** Describes events that are already missing. */
  readonly damage?: readonly string[]
  /** Called if a file other than the events cannot be written. */
  readonly onError?: (error: unknown) => void
  /** Called if another program has changed the events. */
  readonly onChanged?: () => void
}

/**
 * The record of a run on disk: events as lines of `events.ndjson`, a log of the raw output per
 * iteration, and a receipt per attempt of an iteration.
 */
export class Journal {
  /** The path at which it was opened. */
  readonly #name: string
  readonly #kept: KeptFolder
  /** The folder itself, which an agent may move, or replace by a link. */
  readonly #folder: string
  readonly #options: Options
  readonly #events: EventFile
  readonly #logs: Logs
  readonly #iterations = new OpenIterations()
  /** Files that could not be written yet, by name. */
  readonly #unwritten = new Map<string, () => void>()
  #checkpoint: Checkpoint | undefined
  /** Length of the events at the last checkpoint. */
  #savedLength: number
  #damage: readonly string[]
  #isSyncDue = false

  constructor(folder: string, stamp: Stamp, options: Options = {}) {
    this.#name = folder
    this.#kept = new KeptFolder(folder)
    this.#folder = this.#kept.path
    this.#options = options
    this.#damage = options.damage ?? []
    this.#events = new EventFile(eventsPath(this.#folder), () => this.#startOver())
    this.#logs = new Logs(this.#folder, stamp, (span) =>
      this.#attempt(() => this.#events.append(span)),
    )
    this.#savedLength = this.#events.length
    syncFolder(folder)
    syncFolder(dirname(folder))
  }

  /** Throws if the event cannot be written; it is kept and written later. */
  append(event: RunEvent): void {
    // Messages of the agent, possibly thousands, do not split the output into spans.
    if (event.type !== 'message' && event.type !== 'tool') this.#logs.endSpans()
    this.#iterations.note(event)
    if (event.type === 'run_started' || event.type === 'run_resumed') this.#savePlan(event)
    if (event.type === 'iteration_ended') this.#endIteration(event)
    if (event.type === 'task_ended') this.#attempt(() => this.#logs.end(event.scope))
    this.#events.append(event)
    if (DURABLE.has(event.type)) this.#sync()
    else if (SOON_DURABLE.has(event.type)) this.#isSyncDue = true
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
    const name = promptPath(hash)
    if (statOf(join(this.#folder, name)) !== undefined) return
    this.#checkFolder()
    this.#save(name, text, true)
  }

  /** Takes the state after all events so far for the next checkpoint. */
  checkpoint(state: RunState): void {
    const { length: offset, seq } = this.#events
    if (seq > 0) this.#checkpoint = { offset, seq, state, ...this.#damaged }
  }

  get #damaged(): { readonly damage?: readonly string[] } {
    return this.#damage.length === 0 ? {} : { damage: this.#damage }
  }

  /** Saves a checkpoint with the state before the change, from which a resume can continue. */
  #startOver(): void {
    this.#options.onChanged?.()
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
  get hasUnwritten(): boolean {
    return this.#unwritten.size > 0
  }

  /** Where the record is now; undefined if it was removed. */
  get place(): string | undefined {
    return this.#events.place
  }

  get isDeleted(): boolean {
    return this.#events.isDeleted
  }

  /** Retries failed writes; the last time, drops events that change no state if necessary. */
  catchUp(isLast = false): void {
    this.#checkFolder()
    if (isLast) this.#events.writeLast()
    else this.#events.write()
    this.#sync()
    checkDiskSpace(this.#folder)
    for (const [name, write] of this.#unwritten) {
      write()
      this.#unwritten.delete(name)
    }
    this.#logs.resume()
  }

  /** Writes events for the latest output, and a checkpoint if one is due; called every second. */
  flush(): void {
    this.#events.check()
    this.#logs.endSpans()
    if (this.#isSyncDue) this.#sync()
    if (this.#events.length - this.#savedLength > CHECKPOINT_BYTES) this.#saveCheckpoint()
  }

  close(): void {
    this.#events.check(true)
    this.#logs.close()
    this.#events.write()
    if (this.#isSyncDue) this.#sync()
    this.#saveCheckpoint()
    this.#events.close()
    this.#kept.close()
  }

  /** Closes the files without writing anything more. */
  abandon(): void {
    this.#logs.abandon()
    this.#events.close()
    this.#kept.close()
  }

  /** Not synced, because it can be rebuilt from the events. */
  #endIteration(event: EventOf<'iteration_ended'>): void {
    this.#checkFolder()
    const log = this.#attempt(() => this.#logs.end(event.scope))
    const receipt = this.#iterations.end(this.#folder, event, log)
    const text = `${JSON.stringify(receipt, null, 2)}\n`
    this.#attempt(() => this.#save(receiptPath(receipt), text, false))
  }

  /** Saves readers a search of the events, which are authoritative. */
  #savePlan({ version, plan }: EventOf<'run_started'> | EventOf<'run_resumed'>): void {
    if (plan === undefined) return
    this.#attempt(() => this.#save(PLAN, `${JSON.stringify({ version, plan })}\n`, false))
  }

  /** Writes a file of the record; if that fails, keeps it for `catchUp` and throws. */
  #save(name: string, text: string, durable: boolean): void {
    const write = () =>
      withFileIn(this.#folder, name, (path) =>
        writeFileAtomic(path, text, { durable, mode: 0o600 }),
      )
    try {
      write()
      this.#unwritten.delete(name)
    } catch (error) {
      if (this.#unwritten.size < MOST_UNWRITTEN) this.#unwritten.set(name, write)
      throw error
    }
  }

  #sync(): void {
    this.#events.sync()
    this.#isSyncDue = false
  }

  #saveCheckpoint(): void {
    if (this.#checkpoint === undefined) return
    this.#savedLength = this.#events.length
    writeCheckpoint(this.#folder, this.#checkpoint)
  }

  #attempt<Result>(job: () => Result): Result | undefined {
    try {
      return job()
    } catch (error) {
      this.#options.onError?.(error)
      return undefined
    }
  }

  /** An agent's clean-up may have deleted the record. */
  #checkFolder(): void {
    if (this.#events.isDeleted) throw new Error(`${this.#name} was deleted`)
  }
}

/** Makes the names of new files survive a power failure. */
function syncFolder(path: string): void {
  try {
    const fd = openSync(path, 'r')
    try {
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
  } catch {
    // Some file systems refuse to sync a folder and do not need it.
  }
}

/** This much must be free before files are written again. */
const FREE_BYTES = 64 * 1024

/** Throws if the disk is full. Writing events does not reveal that, because it may use the reserved space. */
function checkDiskSpace(folder: string): void {
  const path = unfinishedPath(folder)
  try {
    writeFileSync(path, Buffer.alloc(FREE_BYTES), { flag: 'wx', mode: 0o600 })
  } finally {
    rmSync(path, { force: true })
  }
}
