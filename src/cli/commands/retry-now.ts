import type { Command } from '../command.ts'
import { RECORD_OPTIONS } from './runs.ts'

export const retryNowCommand: Command = {
  summary: 'Stop waiting for a quota or a retry, and continue now.',
  usage: ['forkhestra retry-now [RUN] [--json]'],
  examples: [['forkhestra retry-now', 'the newest waiting run']],
  json: 'object',
  options: RECORD_OPTIONS,
  async run(input) {
    const { retryNow } = await import('../records/ask-run.ts')
    return retryNow(input)
  },
}
