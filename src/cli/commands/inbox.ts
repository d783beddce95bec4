import type { Command } from '../command.ts'
import { QUEUE_OPTIONS } from './queue.ts'

export const inboxCommand: Command = {
  summary: 'List who has sent something, and when.',
  usage: ['forkhestra inbox'],
  examples: [['forkhestra inbox', 'nothing is taken out of it']],
  options: {
    ...QUEUE_OPTIONS,
  },
  words: [],
  async run(input) {
    const { showInbox } = await import('../queue/look.ts')
    return showInbox(input)
  },
}
