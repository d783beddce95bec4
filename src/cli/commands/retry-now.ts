import type { Command } from '../command.ts'
import { RECORD_OPTIONS } from './runs.ts'

export const retryNowCommand: Command = {
  summary: 'End the wait of a run, for a quota or after a failure.',
  usage: ['forkhestra retry-now [RUN] [--json]'],
  examples: [['forkhestra retry-now', 'the newest run that waits']],
  options: RECORD_OPTIONS,
  async run(input) {
    const { retryNow } = await import('../records/ask-run.ts')
    return retryNow(input)
  },
}
