import type { Command } from '../command.ts'
import { RECORD_OPTIONS } from './runs.ts'

export const showCommand: Command = {
  summary: 'Show how a run went, and what to do next.',
  usage: [
    'forkhestra show [RUN] [--step N] [--json]',
    'forkhestra show [RUN] --step N --iteration N [--attempt N] [--round N] [--json]',
  ],
  examples: [
    ['forkhestra show', 'the newest run'],
    ['forkhestra show x7k2m', 'a run by the beginning or the end of its id'],
    ['forkhestra show --step 2 --iteration 5', 'one iteration: command, prompt, outcome, changes'],
  ],
  json: 'object',
  options: {
    step: { value: '<n>', help: 'only this step' },
    iteration: { value: '<n>', help: 'the receipt of this iteration' },
    attempt: { value: '<n>', help: 'this attempt of the iteration (default: the last)' },
    round: { value: '<n>', help: 'this round of the step (default: the last)' },
    ...RECORD_OPTIONS,
  },
  async run(input) {
    const { showRun } = await import('../records/show-run.ts')
    return showRun(input)
  },
}
