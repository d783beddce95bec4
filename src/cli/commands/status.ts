import type { Command } from '../command.ts'
import { RECORD_OPTIONS } from './runs.ts'

export const statusCommand: Command = {
  summary: 'Show the live runs, the last run and the open tasks of the project.',
  usage: ['forkhestra status [--json]'],
  examples: [
    ['forkhestra status', 'what is running, how the last run ended, what is left to do'],
    ['forkhestra status --json', 'for scripts'],
  ],
  json: 'object',
  options: RECORD_OPTIONS,
  words: [],
  async run(input) {
    const { printStatus } = await import('../records/print-status.ts')
    return printStatus(input)
  },
}
