import type { Command } from '../command.ts'
import { RECORD_OPTIONS } from './runs.ts'

export const stopCommand: Command = {
  summary: 'Let a run finish its iteration and then stop; it can be resumed.',
  usage: ['forkhestra stop [RUN] [--now] [--json]'],
  examples: [
    ['forkhestra stop', 'the newest active run'],
    ['forkhestra stop --now', 'interrupt the iteration, like Ctrl-C'],
  ],
  json: 'object',
  options: {
    now: { help: 'interrupt the iteration, like Ctrl-C' },
    ...RECORD_OPTIONS,
  },
  async run(input) {
    const { stopRun } = await import('../records/ask-run.ts')
    return stopRun(input)
  },
}
