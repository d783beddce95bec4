import type { Command } from '../command.ts'
import { QUEUE_OPTIONS } from './queue.ts'

export const mcpCommand: Command = {
  summary: 'Serve queue, inbox and tasks as MCP tools on stdin and stdout.',
  usage: ['forkhestra mcp [--run ID] [--cwd PATH]'],
  examples: [
    ['claude mcp add forkhestra -- forkhestra mcp', 'for Claude Code'],
    ['forkhestra mcp --cwd ../app', 'for another project'],
  ],
  options: {
    run: QUEUE_OPTIONS['run']!,
    cwd: {
      value: '<path>',
      help: 'project folder (default: found from the current folder upwards)',
    },
    as: { value: '<name>', help: 'name to claim tasks with (default: the name of the client)' },
    'kill-orphans': { help: 'kill the processes that a dead run left behind' },
  },
  words: [],
  async run(input) {
    const { serveMcp } = await import('../queue/mcp.ts')
    return serveMcp(input)
  },
}
