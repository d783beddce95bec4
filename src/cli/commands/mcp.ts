import type { Command } from '../command.ts'
import { QUEUE_OPTIONS } from './queue.ts'

export const mcpCommand: Command = {
  summary: 'Serve queue, inbox and tasks as MCP tools on stdin and stdout, until stdin ends.',
  usage: ['forkhestra mcp [--run ID] [--cwd PATH]'],
  examples: [
    ['claude mcp add forkhestra -- forkhestra mcp', 'for Claude Code'],
    ['forkhestra mcp --cwd ../app', 'for another project than that of the current folder'],
  ],
  options: {
    run: QUEUE_OPTIONS['run']!,
    cwd: { value: '<path>', help: 'the project folder, taken literally' },
    as: { value: '<name>', help: 'on whose behalf tasks are claimed; else the client' },
    'kill-orphans': { help: 'end what a run that died has left running' },
  },
  words: [],
  async run(input) {
    const { serveMcp } = await import('../queue/mcp.ts')
    return serveMcp(input)
  },
}
