import type { CallToolResult } from '@modelcontextprotocol/server'
import type { z } from 'zod'
import { UserError } from '../base/errors.ts'
import { inToolWords } from '../verbs/tool-words.ts'

/** One request, while it is answered. */
export interface Call {
  /** Aborts when the client does not want the answer any more, or is gone. */
  readonly signal: AbortSignal
  /** What the client calls itself. */
  clientName(): string | undefined
  /** To be asked before one answers: whether the client will have taken the answer. */
  isTaken(): Promise<boolean>
  /** Says that it is still being worked at, where the client wants to know. */
  progress(): void
}

/** A tool as the server needs it. */
export interface ServedTool {
  readonly name: string
  readonly description: string
  readonly input: z.ZodObject
  /** Nothing is changed by it, so that a client need not ask its user. */
  readonly isReading?: boolean | undefined
  call(input: Readonly<Record<string, unknown>>, call: Call): Promise<CallToolResult>
}

export function answer(text: string): CallToolResult {
  return { content: [{ type: 'text', text }] }
}

/** A user's mistake is an answer too, only a bug is thrown. */
export function refuse(error: unknown, prefix = ''): CallToolResult {
  if (!(error instanceof UserError)) throw error
  const { message, hint } = error
  const text = hint === undefined ? message : `${message}\n${inToolWords(hint, prefix)}`
  return { ...answer(text), isError: true }
}
