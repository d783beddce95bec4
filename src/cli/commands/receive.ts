import type { Command } from '../command.ts'
import { QUEUE_OPTIONS } from './queue.ts'

export const receiveCommand: Command = {
  summary: 'Wait for a message, or until each of several agents has answered.',
  usage: ['forkhestra receive [--from A,B] [--lifo] [--timeout T]'],
  examples: [
    ['forkhestra receive', 'one message from anyone; exit code 1 if no one can send one'],
    ['forkhestra receive --from a,b', 'one from each, once both have answered or ended'],
    ['forkhestra receive --timeout 5m', 'wait at most 5 minutes; exit code 1 if nothing arrived'],
  ],
  json: 'object',
  options: {
    from: { value: '<agents>', help: 'wait until each of these has answered' },
    lifo: { help: 'the newest first' },
    timeout: { value: '<time>', help: 'wait at most this long: 30 (seconds), 90s, 5m' },
    ...QUEUE_OPTIONS,
  },
  async run(input) {
    const { receiveMessages } = await import('../queue/read.ts')
    return receiveMessages(input)
  },
}
