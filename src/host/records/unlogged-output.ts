import type { EventOf } from '../../records/events/event.ts'
import type { RunEvent } from '../../records/events/schema.ts'
import { keyOfScope } from '../../records/events/tree.ts'
import { iterationPath } from '../../records/journal/paths.ts'
import { readOutput } from '../../records/journal/read-run.ts'

type Output = EventOf<'output'>

/** The log of the last iteration of a step. */
interface LastLog {
  readonly path: string
  readonly count: number
  /** The event for its next bytes, if it has not ended. */
  readonly next?: Output
}

/** Bytes in a log without an event: their writer died, or is about to write the event. */
export class UnloggedOutput {
  readonly #folder: string
  /** Keyed by the scope of the step, because branches work at the same time. */
  readonly #logs = new Map<string, LastLog>()

  constructor(folder: string) {
    this.#folder = folder
  }

  note(event: RunEvent): void {
    switch (event.type) {
      case 'iteration_started':
        return this.#begin(event)
      case 'output':
        if (event.task !== undefined) return
        return this.#change(event, {
          next: { ...event, offset: (event.offset ?? 0) + (event.bytes ?? 0) },
        })
      case 'iteration_ended':
        return this.#change(event, {})
      case 'run_resumed':
      case 'run_ended':
        this.#endAll()
        return
      default:
    }
  }

  /** The log of a running iteration. */
  logOf(scope: readonly string[]): string | undefined {
    return this.#logs.get(keyOfScope(scope))?.next?.log
  }

  /** Events for all these bytes, once. */
  take(): Output[] {
    const found = [...this.#logs.values()].flatMap(({ next }) => this.#rest(next) ?? [])
    this.#endAll()
    return found
  }

  #rest(next: Output | undefined): Output | undefined {
    if (next === undefined) return undefined
    const bytes = readOutput(this.#folder, { ...next, bytes: Number.MAX_SAFE_INTEGER / 2 })
    return bytes === undefined || bytes.length === 0 ? undefined : { ...next, bytes: bytes.length }
  }

  #endAll(): void {
    for (const [key, { path, count }] of this.#logs) this.#logs.set(key, { path, count })
  }

  #change(event: Output | EventOf<'iteration_ended'>, fields: Pick<LastLog, 'next'>): void {
    const key = keyOfScope(event.scope)
    const { path = '', count = 0 } = this.#logs.get(key) ?? {}
    this.#logs.set(key, { path, count, ...fields })
  }

  /** An iteration that is repeated after a crash has a new log. */
  #begin(event: EventOf<'iteration_started'>): void {
    const key = keyOfScope(event.scope)
    const path = iterationPath(event)
    const last = this.#logs.get(key)
    const count = path === last?.path ? last.count + 1 : 1
    const log = count === 1 ? `${path}.log` : `${path}.again-${count}.log`
    const { at, run, worker, scope, step, iteration, attempt } = event
    const place = { at, run, worker, scope, step, iteration, attempt }
    const next: Output = { type: 'output', ...place, stream: 'out', log, offset: 0 }
    this.#logs.set(key, { path, count, next })
  }
}
