import { resolveCwd } from '../../../setup/configuration.ts'
import { VERSION } from '../../../setup/version.ts'
import type { Command } from '../../command.ts'
import { TASK_OPTIONS } from '../database.ts'

export const mcpCommand: Command = {
  summary: 'Serve the tasks as MCP tools on stdin and stdout, until stdin ends.',
  usage: ['forge-tasks mcp [--as NAME] [--cwd PATH]'],
  examples: [['claude mcp add forge-tasks -- forge-tasks mcp', 'for Claude Code']],
  options: { as: TASK_OPTIONS['as']!, cwd: TASK_OPTIONS['cwd']! },
  words: [],
  async run(input) {
    const cwd = resolveCwd(input.text('cwd'))
    const { serveTasks } = await import('../../../mcp/serve.ts')
    await serveTasks({
      cwd,
      version: VERSION,
      as: input.text('as'),
      env: process.env,
      onBug: (error) => console.error(error),
    })
    return 0
  },
}
