import type { SeenFile } from './seen.ts'

export interface AgentTool {
  readonly name: string
  readonly description: string
  /** JSON Schema of the input; keep it small, because it is sent with every request. */
  readonly inputSchema: Readonly<Record<string, unknown>>
  /** Describes a call to people in a few words. */
  brief(input: unknown): string
  /** Mistakes of the model and problems with files are answers; it does not throw for them. */
  call(input: unknown, workspace: Workspace, signal: AbortSignal): Promise<ToolAnswer>
}

export interface ToolAnswer {
  readonly text: string
  readonly isError?: true
  /** The change as a unified diff, for people and records; the model does not get it. */
  readonly diff?: string
  /** The state of a file that the conversation has now seen; stored with it, see `SeenFiles`. */
  readonly seen?: SeenFile
  /** Called after the answer was added to the conversation and stored. */
  readonly onSaved?: () => Promise<void>
}

/** What tools work on. They start processes only through `exec`, so that the caller controls them. */
export interface Workspace {
  /** Absolute. */
  readonly cwd: string
  /** Absolute paths of further folders in which files may be read and written. */
  readonly roots: readonly string[]
  /** Runs a command with `/bin/sh -c`; its child processes end with it. */
  exec(command: string, options: ExecOptions): Promise<Executed>
}

export interface ExecOptions {
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** Gets stdout and stderr as one stream. */
  readonly take: (bytes: Uint8Array) => void
}

export type Executed =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'signalled'; readonly signal: string }
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'failed'; readonly error: string }
