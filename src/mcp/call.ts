import type { CallToolResult } from '@modelcontextprotocol/server'
import { UserError } from '../base/errors.ts'
import { keepLeases } from '../tasks/claims/leases.ts'
import { inToolWords } from './tool-words.ts'
import type { Desk, Input, Tool } from './tool.ts'

/** Runs a tool. A user's mistake is an answer too, only a bug is thrown. */
export function callTool(tool: Tool, input: Input, desk: Desk): CallToolResult {
  try {
    keepLeases(desk.places, desk.owner, desk.now)
    return { content: [{ type: 'text', text: tool.run(input, desk) }] }
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    const { message, hint } = error
    const text = hint === undefined ? message : `${message}\n${inToolWords(hint)}`
    return { content: [{ type: 'text', text }], isError: true }
  }
}
