import type { Command } from '../command.ts'
import { RECORD_OPTIONS } from './runs.ts'

export const cleanCommand: Command = {
  summary: 'Remove the records of old runs.',
  usage: ['forkhestra clean --keep N [--with-queues] [--with-foreign] [--dry-run] [--json]'],
  examples: [
    ['forkhestra clean --keep 10', 'keep the newest 10; running runs are never removed'],
    ['forkhestra clean --keep 0 --dry-run', 'what would be removed'],
  ],
  json: 'object',
  options: {
    keep: { value: '<n>', help: 'number of runs to keep' },
    'with-queues': { help: 'also remove runs with queued tasks, unread results or worktrees' },
    'with-foreign': { help: 'also remove runs that were not made here' },
    'dry-run': { help: 'print what would be removed, remove nothing' },
    ...RECORD_OPTIONS,
  },
  words: [],
  async run(input) {
    const { cleanRuns } = await import('../records/clean-runs.ts')
    return cleanRuns(input)
  },
}
