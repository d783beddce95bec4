import type { Command } from '../command.ts'
import { LIMIT_OPTIONS } from './run.ts'

export const resumeCommand: Command = {
  summary: 'Go on with a run that was killed, was stopped or did not complete.',
  usage: ['forkhestra resume [RUN] [options]'],
  examples: [
    ['forkhestra resume', 'the newest that is not complete, at the iteration where it ended'],
    ['forkhestra resume 20261116-2203', 'a certain one, by the beginning of its id'],
    ['forkhestra resume --max-cost 20', 'with a larger budget'],
  ],
  options: {
    cwd: { value: '<path>', help: 'the project of the run' },
    anyway: { help: 'start although another run is at work in this working tree' },
    'kill-orphans': { help: 'end the processes that the dead run has left behind' },
    'trust-record': {
      help: 'carry out a record that was not made here, or that 0.1.0 made; needed once',
    },
    'new-queue': { help: 'begin an empty queue, and keep the damaged one aside' },
    prompt: {
      short: 'p',
      value: '<text>',
      help: 'the prompt of the run once more, where the record does not hold all of it',
    },
    ...LIMIT_OPTIONS,
    verbose: { short: 'v', help: 'everything, untruncated, and where each prompt came from' },
    json: { help: 'one JSON event a line on stdout, nothing else' },
  },
  async run(input) {
    const { resumeRun } = await import('../resume-run.ts')
    return resumeRun(input)
  },
}
