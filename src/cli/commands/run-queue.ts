import type { Command } from '../command.ts'
import { QUEUE_OPTIONS } from './queue.ts'

export const runQueueCommand: Command = {
  summary: 'Start queued tasks; outside of a run, wait until they have ended.',
  usage: ['forkhestra run-queue [N] [--parallel N]'],
  examples: [
    ['forkhestra run-queue', 'all that is queued; exit code 1 if a task failed'],
    ['forkhestra run-queue 2', 'the oldest two'],
    ['forkhestra run-queue --parallel 4', 'all, four at a time, and what is queued meanwhile'],
  ],
  options: {
    parallel: { value: '<n>', help: 'all of the queue, so many at a time' },
    'kill-orphans': { help: 'end what a run that died has left running' },
    verbose: { short: 'v', help: 'show what the sub-agents say, too' },
    ...QUEUE_OPTIONS,
    json: { help: 'one JSON object; where the work is done here, then events, a line each' },
  },
  async run(input) {
    const { startQueue } = await import('../queue/run-queue.ts')
    return startQueue(input)
  },
}
