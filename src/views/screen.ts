import type { OutputChunk } from '../records/events/event.ts'
import type { RunEvent } from '../records/events/schema.ts'
import type { RunState } from '../records/events/state.ts'

export interface Output {
  /** Raw output of an agent. A promise asks the caller to wait before sending more. */
  bytes(stream: 'out' | 'err', bytes: Uint8Array): void | Promise<void>
  /** Writes one of our own lines to stdout, or a warning to stderr; a terminal dims lines unless they are plain. */
  line(text: string, look?: 'plain'): void
  warn(text: string): void
  /** Shows the current status on a terminal; the next line replaces it. */
  status?(text: string): void
}

export interface View {
  /** `state` is the state after the event, if the caller knows it. */
  show(event: RunEvent, state?: RunState): void
  /** A promise asks the caller to wait before sending more. */
  output(chunk: OutputChunk): void | Promise<void>
  /** Called once a second. */
  tick?(now: number): void
}
