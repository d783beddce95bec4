import type { Command } from '../command.ts'
import { LIMIT_OPTIONS } from './run.ts'

export const resumeCommand: Command = {
  summary: 'Resume a run that was killed, stopped or did not complete.',
  usage: ['forkhestra resume [RUN] [options]'],
  examples: [
    ['forkhestra resume', 'the newest incomplete run, at the iteration where it ended'],
    ['forkhestra resume 20261116-2203', 'a run by the beginning of its id'],
    ['forkhestra resume --max-cost 20', 'with a larger budget'],
  ],
  json: 'events',
  options: {
    cwd: { value: '<path>', help: 'the project of the run' },
    anyway: { help: 'start even if another run is active in this working tree' },
    'kill-orphans': { help: 'kill the processes that the dead run left behind' },
    'trust-record': {
      help: 'carry out a record that was not made here, or has no signature; needed once',
    },
    'new-queue': { help: 'start with an empty queue and keep the damaged one' },
    prompt: {
      short: 'p',
      value: '<text>',
      help: 'the original prompt, if the record does not contain all of it',
    },
    ...LIMIT_OPTIONS,
    verbose: { short: 'v', help: 'show everything, untruncated, and the source of each prompt' },
    json: { help: 'print one JSON event per line on stdout' },
  },
  async run(input) {
    const { resumeRun } = await import('../resume-run.ts')
    return resumeRun(input)
  },
}
