import type { CallToolResult } from '@modelcontextprotocol/server'
import { UserError } from '../base/errors.ts'
import type { Tool, ToolCall } from '../queue/tools/tool.ts'

/** A request of a client; its signal also aborts when the client is gone. */
export interface Call extends ToolCall {
  clientName(): string | undefined
  /** Resolves to whether the client has read the answer; must be called before answering. */
  isAnswerRead(): Promise<boolean>
}

/** A tool as the server offers it. */
export interface ServedTool extends Tool {
  call(input: Readonly<Record<string, unknown>>, call: Call): Promise<CallToolResult>
}

export function textResult(text: string): CallToolResult {
  return { content: [{ type: 'text', text }] }
}

/** Turns a `UserError` into a result for the client; rethrows anything else. */
export function errorResult(error: unknown, translate = (hint: string) => hint): CallToolResult {
  if (!(error instanceof UserError)) throw error
  const { message, hint } = error
  const text = hint === undefined ? message : `${message}\n${translate(hint)}`
  return { ...textResult(text), isError: true }
}
