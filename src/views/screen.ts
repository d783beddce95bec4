import type { OutputChunk } from '../events/event.ts'
import type { RunEvent } from '../events/schema.ts'
import type { RunState } from '../events/state.ts'

/** Where a view writes to. */
export interface Screen {
  /** Bytes of an agent, unchanged. A promise asks to wait until there is room for more. */
  bytes(stream: 'out' | 'err', bytes: Uint8Array): void | Promise<void>
  /** A line of ours on a fresh line of stdout, or, for warnings, of stderr. */
  line(text: string): void
  warn(text: string): void
  /** What is true right now, where a person looks on: it is gone with the next line. */
  status?(text: string): void
}

/** Shows a run while it happens. */
export interface View {
  /** `state` is what the run has come to with it; whoever does not know it leaves it out. */
  show(event: RunEvent, state?: RunState): void
  /** A promise asks to wait until there is room for more. */
  output(chunk: OutputChunk): void | Promise<void>
  /** Called once a second. */
  tick?(now: number): void
}
