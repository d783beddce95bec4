import type { EventBody, OutputChunk } from '../events/event.ts'
import type { ReadPrompt } from '../prompt/choose.ts'

/** The signals that end a run. */
export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

/** What carrying out a plan needs from outside. */
export interface Ports {
  readonly emit: (event: EventBody) => void
  /** A promise asks the run to wait until there is room for more. */
  readonly output: (chunk: OutputChunk) => void | Promise<void>
  readonly readPrompt: ReadPrompt
  /** Environment that every agent starts from. */
  readonly env: Readonly<Record<string, string>>
  /** Aborts when the run is to end; the reason is the signal that agents get, SIGTERM if it is none. */
  readonly stop: AbortSignal
  /** Aborts when nothing is to be waited for any more. */
  readonly force: AbortSignal
  /** Whether every descendant of this process belongs to the run, orphans included. */
  readonly ownsDescendants: boolean
  /** For `run_started`: what the record of the run is. */
  readonly record?: string | undefined
  readonly version: string
  /** Whether `iteration_started` tells the exact command. */
  readonly verbose: boolean
}

export const EXIT_CODES: Record<StopSignal, number> = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }

/** Which signal an aborted run is stopped by. */
export function stopSignalOf(stop: AbortSignal): StopSignal {
  const reason: unknown = stop.reason
  return reason === 'SIGINT' || reason === 'SIGHUP' ? reason : 'SIGTERM'
}
