import type { Command } from '../command.ts'
import { QUEUE_OPTIONS } from './queue.ts'

export const runQueueCommand: Command = {
  summary: 'Start queued tasks; outside a run, wait until they end.',
  usage: ['forkhestra run-queue [N] [--parallel N]'],
  examples: [
    ['forkhestra run-queue', 'all queued tasks; exit code 1 if one failed'],
    ['forkhestra run-queue 2', 'the oldest two'],
    ['forkhestra run-queue --parallel 4', 'all tasks, four at a time, including new ones'],
  ],
  json: 'object',
  options: {
    parallel: { value: '<n>', help: 'run all tasks, N at a time' },
    'kill-orphans': { help: 'kill the processes that a dead run left behind' },
    verbose: { short: 'v', help: 'also show the output of sub-agents' },
    ...QUEUE_OPTIONS,
    json: { help: 'print one JSON object, then one event per line if tasks run here' },
  },
  async run(input) {
    const { startQueue } = await import('../queue/run-queue.ts')
    return startQueue(input)
  },
}
