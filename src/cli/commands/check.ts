import type { Command } from '../command.ts'
import { QUEUE_OPTIONS } from './queue.ts'

export const checkCommand: Command = {
  summary: 'Read the messages in the inbox without waiting.',
  usage: ['forkhestra check [--from A,B] [--lifo] [--max N]'],
  examples: [
    ['forkhestra check', 'all messages; they are removed from the inbox'],
    ['forkhestra check --from tests', 'messages from one agent'],
    ['forkhestra inbox', 'show senders without reading'],
  ],
  json: 'object',
  options: {
    from: { value: '<agents>', help: 'only from these agents, separated by commas' },
    lifo: { help: 'the newest first' },
    max: { value: '<n>', help: 'read at most N messages (default: 100)' },
    ...QUEUE_OPTIONS,
  },
  async run(input) {
    const { checkInbox } = await import('../queue/read.ts')
    return checkInbox(input)
  },
}
