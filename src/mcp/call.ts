import type { CallToolResult } from '@modelcontextprotocol/server'
import { UserError } from '../base/errors.ts'
import { change } from '../tasks/change.ts'
import { renew } from '../tasks/settle.ts'
import { readState } from '../tasks/state.ts'
import type { Desk, Input, Tool } from './tool.ts'

/** Runs a tool. A user's mistake is an answer too, only a bug is thrown. */
export function callTool(tool: Tool, input: Input, desk: Desk): CallToolResult {
  try {
    renewLeases(desk)
    return { content: [{ type: 'text', text: tool.run(input, desk) }] }
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    const text = error.hint === undefined ? error.message : `${error.message}\n${error.hint}`
    return { content: [{ type: 'text', text }], isError: true }
  }
}

/** Whoever calls is at work: also by a call that itself changes nothing. */
function renewLeases({ places, owner, now }: Desk): void {
  const state = readState(places)
  if (renew(state, owner, now) === state) return
  try {
    change(places, (draft) => {
      draft.state = renew(draft.state, owner, now)
    })
  } catch (error) {
    // Where nothing can be written, there is still much to read.
    if (!(error instanceof UserError)) throw error
  }
}
