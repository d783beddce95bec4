import type { Command } from '../command.ts'
import { QUEUE_OPTIONS } from './queue.ts'

export const inboxCommand: Command = {
  summary: 'List the senders of unread messages.',
  usage: ['forkhestra inbox'],
  examples: [['forkhestra inbox', 'messages stay in the inbox']],
  json: 'object',
  options: {
    ...QUEUE_OPTIONS,
  },
  words: [],
  async run(input) {
    const { showInbox } = await import('../queue/show.ts')
    return showInbox(input)
  },
}
