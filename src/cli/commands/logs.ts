import type { Command } from '../command.ts'
import { RECORD_OPTIONS } from './runs.ts'

export const logsCommand: Command = {
  summary: 'Print the output of a run.',
  usage: [
    'forkhestra logs [RUN] [--follow] [--step N] [--iteration N] [--raw | --json]',
    'forkhestra logs [RUN] [--follow] --task NAME [--attempt N] [--raw | --json]',
  ],
  examples: [
    ['forkhestra logs', 'output of the newest run'],
    ['forkhestra logs --follow', 'and follow it until the run ends'],
    ['forkhestra logs --step 2 --iteration 5 --raw', 'raw output of one iteration'],
  ],
  json: 'events',
  options: {
    follow: { short: 'f', help: 'follow the output until the run ends' },
    step: { value: '<n>', help: 'only this step' },
    iteration: { value: '<n>', help: 'only this iteration' },
    task: { value: '<name>', help: 'only this task and its output' },
    attempt: { value: '<n>', help: 'only this attempt of the task' },
    raw: { help: 'raw bytes of the agents, both streams on stdout' },
    verbose: { short: 'v', help: 'show everything, untruncated, and the source of each prompt' },
    ...RECORD_OPTIONS,
    json: { help: 'print one JSON event per line, as a run does with --json' },
  },
  async run(input) {
    const { printLogs } = await import('../records/print-logs.ts')
    return printLogs(input)
  },
}
