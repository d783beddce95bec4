import { VERSION } from '../../../host/version.ts'
import type { Command } from '../../command.ts'
import { projectFolder, TASK_OPTIONS } from '../database.ts'

const INSTRUCTIONS =
  'Tasks shared with other agents. Work: next with claim, do it, edit with checkAc and status done; ' +
  'if stuck, status blocked and appendNotes. Ids may be written 7 or TASK-007.'

export const mcpCommand: Command = {
  summary: 'Serve the tasks as MCP tools on stdin and stdout.',
  usage: ['forge-tasks mcp [--as NAME] [--cwd PATH]'],
  examples: [['claude mcp add forge-tasks -- forge-tasks mcp', 'for Claude Code']],
  options: { as: TASK_OPTIONS['as']!, cwd: TASK_OPTIONS['cwd']! },
  words: [],
  async run(input) {
    // Fails early if the folder does not exist.
    projectFolder(input)
    const { serve } = await import('../../../mcp/serve.ts')
    const { taskTools } = await import('../../../mcp/task-tools.ts')
    await serve({
      name: 'forge-tasks',
      version: VERSION,
      instructions: INSTRUCTIONS,
      tools: taskTools({
        project: () => projectFolder(input),
        as: input.text('as'),
        env: process.env,
      }),
      onBug: (error) => console.error(error),
    })
    return 0
  },
}
