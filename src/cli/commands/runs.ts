import type { Command, Options } from '../command.ts'

/** What every command that reads records takes. */
export const RECORD_OPTIONS: Options = {
  cwd: { value: '<path>', help: 'project folder (default: found from the current folder upwards)' },
  json: { help: 'one JSON object' },
}

export const runsCommand: Command = {
  summary: 'List the recorded runs, the newest first.',
  usage: ['forkhestra runs [--json]'],
  examples: [
    ['forkhestra runs', 'status, place, duration and cost of each'],
    ['forkhestra runs --json', 'for scripts'],
  ],
  json: 'object',
  options: RECORD_OPTIONS,
  words: [],
  async run(input) {
    const { listRecordedRuns } = await import('../records/list-runs.ts')
    return listRecordedRuns(input)
  },
}
