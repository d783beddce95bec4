import type { CallToolResult } from '@modelcontextprotocol/server'
import type { z } from 'zod'
import { UserError } from '../base/errors.ts'

/** A request of a client. */
export interface Call {
  /** Aborts when the client cancels the request or is gone. */
  readonly signal: AbortSignal
  clientName(): string | undefined
  /** Resolves to whether the client has read the answer; must be called before answering. */
  isTaken(): Promise<boolean>
  /** Reports progress if the client asked for it. */
  progress(): void
}

/** A tool as the server offers it. */
export interface ServedTool {
  readonly name: string
  readonly description: string
  readonly input: z.ZodObject
  /** Read-only: clients need not ask their user. */
  readonly isReading?: boolean | undefined
  call(input: Readonly<Record<string, unknown>>, call: Call): Promise<CallToolResult>
}

export function answer(text: string): CallToolResult {
  return { content: [{ type: 'text', text }] }
}

/** Turns a `UserError` into an answer; rethrows anything else. */
export function refuse(error: unknown, translate = (hint: string) => hint): CallToolResult {
  if (!(error instanceof UserError)) throw error
  const { message, hint } = error
  const text = hint === undefined ? message : `${message}\n${translate(hint)}`
  return { ...answer(text), isError: true }
}
