import type { Command } from '../command.ts'
import { QUEUE_OPTIONS } from './queue.ts'

export const receiveCommand: Command = {
  summary: 'Wait for a message, or until each of several agents has answered.',
  usage: ['forkhestra receive [--from A,B] [--lifo] [--timeout T]'],
  examples: [
    ['forkhestra receive', 'one message of anybody; exit code 1 if nobody could send one'],
    ['forkhestra receive --from a,b', 'one of each, once both have answered or ended'],
    ['forkhestra receive --timeout 5m', 'no longer than that; exit code 1 if nothing came'],
  ],
  options: {
    from: { value: '<agents>', help: 'until each of these has answered' },
    lifo: { help: 'the newest first' },
    timeout: { value: '<time>', help: 'no longer than this: 30, 90s, 5m' },
    ...QUEUE_OPTIONS,
  },
  async run(input) {
    const { receiveMessages } = await import('../queue/read.ts')
    return receiveMessages(input)
  },
}
