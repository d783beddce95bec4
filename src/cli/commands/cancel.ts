import type { Command } from '../command.ts'
import { QUEUE_OPTIONS } from './queue.ts'

export const cancelCommand: Command = {
  summary: 'Stop a task and all that it has started.',
  usage: ['forkhestra cancel NAME'],
  examples: [
    ['forkhestra cancel tests', 'its failure is delivered like any other'],
    ['forkhestra queue', 'names of tasks'],
  ],
  options: {
    ...QUEUE_OPTIONS,
  },
  async run(input) {
    const { cancelTask } = await import('../queue/change.ts')
    return cancelTask(input)
  },
}
