import { skippedMs } from '../base/awake.ts'
import type { RunEvent } from './schema.ts'

type Stamped = 'at' | 'run' | 'seq' | 'worker' | 'skippedMs'
type WithoutStamp<Event> = Event extends unknown ? Omit<Event, Stamped> : never

/** What happened, before it is written down: who, when and which number are added by `makeStamp`. */
export type EventBody = WithoutStamp<RunEvent>

/** The events of one type. */
export type EventOf<Type extends RunEvent['type']> = RunEvent & { type: Type }

export type Stamp = (body: EventBody) => RunEvent

/**
 * Gives events their time, run, number and writer. Live output is not numbered. A run that goes on
 * counts on from its `first` number.
 */
export function makeStamp(run: string, worker: string, first = 1, skippedNow = skippedMs): Stamp {
  let seq = first - 1
  const now = makeClock()
  return (body) => {
    const { type } = body
    const number = type === 'output' ? {} : { seq: ++seq }
    const skipped = skippedNow()
    const skips = skipped === 0 ? {} : { skippedMs: skipped }
    return Object.assign({ type, at: now(), run, ...number, worker, ...skips }, body)
  }
}

/** The time as text; what happens in the same millisecond shares it. */
function makeClock(): () => string {
  let [last, text] = [0, '']
  return () => {
    const now = Date.now()
    if (now !== last) [last, text] = [now, new Date(now).toISOString()]
    return text
  }
}

/** A piece of what an agent printed; too frequent and too raw to be an event. */
export interface OutputChunk {
  readonly scope: readonly string[]
  readonly step: number
  readonly iteration: number
  readonly attempt: number
  /** The sub-agent that printed it; absent: the agent of the step itself. */
  readonly task?: string
  readonly stream: 'out' | 'err'
  readonly bytes: Uint8Array
  /** Whether it is told by events, so that people are not shown it. */
  readonly isTold?: boolean
}
