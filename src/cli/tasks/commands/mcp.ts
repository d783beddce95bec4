import { VERSION } from '../../../setup/version.ts'
import type { Command } from '../../command.ts'
import { placesOf, TASK_OPTIONS } from '../database.ts'

const INSTRUCTIONS =
  'Tasks shared with other agents. Work: next with claim, do it, edit with checkAc and status done; ' +
  'if stuck, status blocked and appendNotes. Ids may be written 7 or TASK-007.'

export const mcpCommand: Command = {
  summary: 'Serve the tasks as MCP tools on stdin and stdout, until stdin ends.',
  usage: ['forge-tasks mcp [--as NAME] [--cwd PATH]'],
  examples: [['claude mcp add forge-tasks -- forge-tasks mcp', 'for Claude Code']],
  options: { as: TASK_OPTIONS['as']!, cwd: TASK_OPTIONS['cwd']! },
  words: [],
  async run(input) {
    // A folder that is not there is said before the conversation begins.
    placesOf(input)
    const { serve } = await import('../../../mcp/serve.ts')
    const { taskTools } = await import('../../../mcp/task-tools.ts')
    await serve({
      name: 'forge-tasks',
      version: VERSION,
      instructions: INSTRUCTIONS,
      tools: taskTools({ places: () => placesOf(input), as: input.text('as'), env: process.env }),
      onBug: (error) => console.error(error),
    })
    return 0
  },
}
