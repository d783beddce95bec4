import type { Command } from '../command.ts'
import { RECORD_OPTIONS } from './runs.ts'

export const COST_KEYS = ['run', 'agent', 'step', 'day', 'task'] as const

export const costCommand: Command = {
  summary: 'Add up what the recorded runs took: iterations, tokens, time, money.',
  usage: ['forkhestra cost [RUN] [--by run|agent|step|day|task] [--json]'],
  examples: [
    ['forkhestra cost', 'each run'],
    ['forkhestra cost --by task', 'what each task of forge-tasks took'],
    ['forkhestra cost x7k2m --by step', 'the steps of one run'],
  ],
  options: {
    by: { value: '<what>', help: `${COST_KEYS.join(', ')}; run where it is not given` },
    ...RECORD_OPTIONS,
  },
  async run(input) {
    const { printCost } = await import('../records/print-cost.ts')
    return printCost(input)
  },
}
