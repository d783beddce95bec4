import type { Command } from '../command.ts'
import { QUEUE_OPTIONS } from './queue.ts'

export const cancelCommand: Command = {
  summary: 'Cancel a task and everything it started.',
  usage: ['forkhestra cancel NAME'],
  examples: [
    ['forkhestra cancel tests', 'its parent gets a failure message'],
    ['forkhestra queue', 'list the names of tasks'],
  ],
  json: 'object',
  options: {
    ...QUEUE_OPTIONS,
  },
  async run(input) {
    const { cancelTask } = await import('../queue/change.ts')
    return cancelTask(input)
  },
}
