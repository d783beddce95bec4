import type { Command } from '../command.ts'
import { QUEUE_OPTIONS } from './queue.ts'

export const sendCommand: Command = {
  summary: 'Put a message into the inbox of an agent.',
  usage: ['forkhestra send AGENT MESSAGE', 'forkhestra send AGENT -    the message from stdin'],
  examples: [
    ['forkhestra send main "The key is missing"', 'to the agent of the step'],
    ['forkhestra send tests - < notes.md', 'to the sub-agent of the task tests, from a file'],
  ],
  json: 'object',
  options: {
    ...QUEUE_OPTIONS,
  },
  async run(input) {
    const { sendMessage } = await import('../queue/change.ts')
    return sendMessage(input)
  },
}
