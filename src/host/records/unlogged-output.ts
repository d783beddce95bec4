import type { EventOf } from '../../records/events/event.ts'
import type { RunEvent } from '../../records/events/schema.ts'
import { iterationPath } from '../../records/journal/paths.ts'
import { readOutput } from '../../records/journal/read-run.ts'

type Output = EventOf<'output'>

/** Bytes in a log without an event: their writer died, or is about to write the event. */
export class UnloggedOutput {
  readonly #folder: string
  /** The event for the next bytes of the iteration that has not ended. */
  #next: Output | undefined
  #path = ''
  #count = 0

  constructor(folder: string) {
    this.#folder = folder
  }

  note(event: RunEvent): void {
    switch (event.type) {
      case 'iteration_started':
        return this.#begin(event)
      case 'output':
        if (event.task !== undefined) return
        this.#next = { ...event, offset: (event.offset ?? 0) + (event.bytes ?? 0) }
        return
      case 'iteration_ended':
      case 'run_resumed':
      case 'run_ended':
        this.#next = undefined
        return
      default:
    }
  }

  /** An event for these bytes, once. */
  take(): Output | undefined {
    const next = this.#next
    this.#next = undefined
    if (next === undefined) return undefined
    const bytes = readOutput(this.#folder, { ...next, bytes: Number.MAX_SAFE_INTEGER / 2 })
    return bytes === undefined || bytes.length === 0 ? undefined : { ...next, bytes: bytes.length }
  }

  /** An iteration that is repeated after a crash has a new log. */
  #begin(event: EventOf<'iteration_started'>): void {
    const path = iterationPath(event)
    this.#count = path === this.#path ? this.#count + 1 : 1
    this.#path = path
    const log = this.#count === 1 ? `${path}.log` : `${path}.again-${this.#count}.log`
    const { at, run, worker, scope, step, iteration, attempt } = event
    const place = { at, run, worker, scope, step, iteration, attempt }
    this.#next = { type: 'output', ...place, stream: 'out', log, offset: 0 }
  }
}
