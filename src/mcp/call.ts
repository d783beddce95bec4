import type { CallToolResult } from '@modelcontextprotocol/server'
import { keepLeases } from '../tasks/claims/leases.ts'
import { answer, refuse } from './served-tool.ts'
import type { Desk, Input, Tool } from './tool.ts'

/** Runs a tool of the tasks. */
export function callTool(tool: Tool, input: Input, desk: Desk): CallToolResult {
  try {
    keepLeases(desk.places, desk.owner, desk.now)
    return answer(tool.run(input, desk))
  } catch (error) {
    return refuse(error, desk.prefix)
  }
}
