import type { OutputChunk } from '../records/events/event.ts'
import type { RunEvent } from '../records/events/schema.ts'
import type { RunState } from '../records/events/state.ts'
import type { RenderFrame } from './terminal/live-lines.ts'

export interface LineStyle {
  /** Terminals dim other lines. */
  readonly isPlain?: boolean
  /** The prefix of each line. */
  readonly prefix?: string | undefined
}

export interface Output {
  /** Whether our own text may be coloured. */
  readonly isColoured?: boolean
  /**
   * Raw output of an agent; with a prefix, whole lines that begin with it. A promise asks the caller to
   * wait before sending more.
   */
  bytes(stream: 'out' | 'err', bytes: Uint8Array, prefix?: string): void | Promise<void>
  /** Writes one of our own lines to stdout, or a warning to stderr. */
  line(text: string, style?: LineStyle): void
  warn(text: string, prefix?: string): void
  /** Shows rows below the lines on a terminal; `refresh` renders them again. */
  live?(render: RenderFrame): void
  refresh?(): void
}

export interface View {
  /** `state` is the state after the event, if the caller knows it. */
  show(event: RunEvent, state?: RunState): void
  /** A promise asks the caller to wait before sending more. */
  output(chunk: OutputChunk): void | Promise<void>
  /** Called once a second. */
  tick?(): void
  /** Called after the last event of a record, which may be incomplete. */
  end?(): void
}
