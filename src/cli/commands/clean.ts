import type { Command } from '../command.ts'
import { RECORD_OPTIONS } from './runs.ts'

export const cleanCommand: Command = {
  summary: 'Remove the records of old runs.',
  usage: ['forkhestra clean --keep N [--with-queues] [--dry-run] [--json]'],
  examples: [
    ['forkhestra clean --keep 10', 'all but the newest 10; one that runs is never removed'],
    ['forkhestra clean --keep 0 --dry-run', 'what would be removed'],
  ],
  options: {
    keep: { value: '<n>', help: 'how many of the newest to keep' },
    'with-queues': { help: 'also those with queued tasks, unread results or worktrees' },
    'dry-run': { help: 'remove nothing, print what would be removed' },
    ...RECORD_OPTIONS,
  },
  words: [],
  async run(input) {
    const { cleanRuns } = await import('../records/clean-runs.ts')
    return cleanRuns(input)
  },
}
