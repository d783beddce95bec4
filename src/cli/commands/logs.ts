import type { Command } from '../command.ts'
import { RECORD_OPTIONS } from './runs.ts'

export const logsCommand: Command = {
  summary: 'Print what a run printed, and go on while it runs.',
  usage: [
    'forkhestra logs [RUN] [--follow] [--step N] [--iteration N] [--raw | --json]',
    'forkhestra logs [RUN] [--follow] --task NAME [--attempt N] [--raw | --json]',
  ],
  examples: [
    ['forkhestra logs', 'the newest run, as it was on the screen'],
    ['forkhestra logs --follow', 'and what comes until it ends'],
    ['forkhestra logs --step 2 --iteration 5 --raw', 'the bytes that the agent printed'],
  ],
  options: {
    follow: { short: 'f', help: 'go on until the run ends' },
    step: { value: '<n>', help: 'only this step' },
    iteration: { value: '<n>', help: 'only the iterations of this number' },
    task: { value: '<name>', help: 'only this task, with what its agent printed' },
    attempt: { value: '<n>', help: 'of a task that was tried again, only this try' },
    raw: { help: 'only what the agents printed, unchanged, both streams on stdout' },
    verbose: { short: 'v', help: 'everything, untruncated, and where each prompt came from' },
    ...RECORD_OPTIONS,
    json: { help: 'one JSON event a line, as the run prints with --json' },
  },
  async run(input) {
    const { printLogs } = await import('../records/print-logs.ts')
    return printLogs(input)
  },
}
