import type { SeenFile } from './seen.ts'

/** A tool of the built-in agent: what the model is told of it, and what a call does. */
export interface AgentTool {
  readonly name: string
  readonly description: string
  /** JSON Schema of the input: small, because it is sent with every request. */
  readonly inputSchema: Readonly<Record<string, unknown>>
  /** What a call is for, in a few words, for people. */
  brief(input: unknown): string
  /** What goes wrong is an answer, too: never throws for what a model or a file did wrong. */
  call(input: unknown, workplace: Workplace, signal: AbortSignal): Promise<ToolAnswer>
}

export interface ToolAnswer {
  readonly text: string
  readonly isError?: boolean
  /** What was changed, as a unified diff, for people and records; the model does not get it. */
  readonly diff?: string
  /** What the conversation knows of a file from now on; to be kept with it, see `Seen`. */
  readonly seen?: SeenFile
}

/** What tools act on. They start no process themselves: whoever runs the agent does, and sees it to its end. */
export interface Workplace {
  /** Absolute. */
  readonly cwd: string
  /** Absolute folders beside it in which files may be read and written, too. */
  readonly roots: readonly string[]
  /** A command by `/bin/sh -c`; all that it started is ended with it. */
  exec(command: string, options: ExecOptions): Promise<Executed>
}

export interface ExecOptions {
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** Stdout and stderr as they come, in one stream. */
  readonly take: (bytes: Uint8Array) => void
}

export type Executed =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'signalled'; readonly signal: string }
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'failed'; readonly error: string }
