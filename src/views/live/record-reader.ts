import { lstatOf } from '../../base/files.ts'
import type { RunEvent } from '../../records/events/schema.ts'
import { next } from '../../records/events/fold.ts'
import type { RunState } from '../../records/events/state.ts'
import { Control } from '../../records/journal/control.ts'
import { pathIn, readTextIn } from '../../records/journal/inside.ts'
import { endOfLog, readLog } from '../../records/journal/log-parts.ts'
import { promptPath } from '../../records/journal/paths.ts'
import { eventsPath, readEvents, readRunState } from '../../records/journal/read-run.ts'
import { holderOf } from '../../records/journal/run-lock.ts'
import { statusOf, type RunBrief } from '../../records/journal/runs.ts'

/** How long reading may take before the screen is drawn and keys are read again. */
const SLICE_MS = 10

/** A journal of this length is read before anything is drawn. */
const SHORT_BYTES = 64 * 1024

/** An event, and where its line begins and ends in the journal. */
export interface Placed {
  readonly event: RunEvent
  readonly from: number
  readonly to: number
}

/** Reads what a record has gained since the last call, and never the same bytes twice. */
export class RecordReader {
  readonly folder: string
  state: RunState
  /** The events up to this one are in the state that was read first. */
  readonly #seq: number
  readonly #control: Control
  /** Where the next event begins. */
  offset = 0
  #life: 'alive' | 'dead' | 'unknown' | undefined

  constructor(folder: string) {
    this.folder = folder
    const { state, seq } = readRunState(folder)
    this.state = state
    this.#seq = seq
    this.#control = new Control(folder)
    this.checkLife()
  }

  /** Whether reading it takes no time that a person would notice. */
  get isShort(): boolean {
    return (lstatOf(eventsPath(this.folder))?.size ?? 0) < SHORT_BYTES
  }

  /** The next events; after many of them, there may be more. */
  read(): { readonly events: readonly Placed[]; readonly isMore: boolean } {
    const end = performance.now() + SLICE_MS
    const events: Placed[] = []
    for (const { event, offset } of readEvents(this.folder, this.offset)) {
      events.push({ event, from: this.offset, to: offset })
      this.offset = offset
      const { seq = 0 } = event
      if (seq > this.#seq) this.state = next(this.state, event)
      if (performance.now() > end) return { events, isMore: true }
    }
    return { events, isMore: false }
  }

  /** Whether a process drives the run; not known to be true until the next call. */
  checkLife(): void {
    this.#life = holderOf(this.folder)?.life
  }

  get status(): RunBrief['status'] {
    return statusOf(this.state, this.#life)
  }

  get isActive(): boolean {
    return this.status === 'running' || this.status === 'waiting'
  }

  get isStopRequested(): boolean {
    return this.isActive && this.#control.isStopRequested
  }

  /** The output in a log from an offset on, but not more than its end, and the offset after it. */
  output(log: string, from: number, most: number): { bytes: Uint8Array; from: number; to: number } {
    const path = this.#fileOf(log)
    const to = path === undefined ? from : endOfLog(path)
    const start = Math.max(from, to - most)
    return { bytes: this.part(log, start, to - start), from: start, to }
  }

  part(log: string, from: number, length: number): Uint8Array {
    const path = this.#fileOf(log)
    const isSome = path !== undefined && length > 0
    return (isSome ? readLog(path, from, length) : undefined) ?? new Uint8Array(0)
  }

  #fileOf(log: string): string | undefined {
    const path = pathIn(this.folder, log)
    return path !== undefined && lstatOf(path)?.isFile() === true ? path : undefined
  }

  /** The events of a part of the journal that was read before. */
  *between(from: number, to: number): Generator<RunEvent> {
    for (const { event, offset } of readEvents(this.folder, from)) {
      if (offset > to) return
      yield event
    }
  }

  prompt(hash: string): string | undefined {
    try {
      return readTextIn(this.folder, promptPath(hash))
    } catch {
      return undefined
    }
  }
}
