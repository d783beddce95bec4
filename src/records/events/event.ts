import { skippedMs } from '../../base/awake.ts'
import type { RunEvent } from './schema.ts'

type Stamped = 'at' | 'run' | 'seq' | 'worker' | 'skippedMs'
type WithoutStamp<Event> = Event extends unknown ? Omit<Event, Stamped> : never

/** An event without the fields that `makeStamp` adds. */
export type EventBody = WithoutStamp<RunEvent>

export type EventOf<Type extends RunEvent['type']> = RunEvent & { type: Type }

export type Stamp = (body: EventBody) => RunEvent

/**
 * Adds time, run, number and worker to events. Live output is not numbered. A resumed run passes the
 * `first` number to continue with.
 */
export function makeStamp(run: string, worker: string, first = 1, skippedNow = skippedMs): Stamp {
  let seq = first - 1
  return (body) => {
    const { type } = body
    const number = type === 'output' ? {} : { seq: ++seq }
    const skipped = skippedNow()
    const skips = skipped === 0 ? {} : { skippedMs: skipped }
    return Object.assign(
      { type, at: new Date().toISOString(), run, ...number, worker, ...skips },
      body,
    )
  }
}

/** A chunk of an agent's output; too frequent and too raw to be an event. */
export interface OutputChunk {
  readonly scope: readonly string[]
  readonly step: number
  readonly iteration: number
  readonly attempt: number
  /** The sub-agent that printed it; absent for the agent of the step itself. */
  readonly task?: string
  readonly stream: 'out' | 'err'
  readonly bytes: Uint8Array
  /** Whether events report the same content, so that views for people do not show it. */
  readonly isInEvents?: boolean
}
