import type { Command } from '../command.ts'
import { QUEUE_OPTIONS } from './queue.ts'

export const checkCommand: Command = {
  summary: 'Read what is in the inbox, without waiting.',
  usage: ['forkhestra check [--from A,B] [--lifo] [--max N]'],
  examples: [
    ['forkhestra check', 'all messages; they are gone from the inbox then'],
    ['forkhestra check --from tests', 'those of one agent'],
    ['forkhestra inbox', 'only look who has sent'],
  ],
  options: {
    from: { value: '<agents>', help: 'only of these, separated by commas' },
    lifo: { help: 'the newest first' },
    max: { value: '<n>', help: 'at most so many; 100 if absent' },
    ...QUEUE_OPTIONS,
  },
  async run(input) {
    const { checkInbox } = await import('../queue/read.ts')
    return checkInbox(input)
  },
}
