import { COST_KEYS } from '../../host/records/cost-table.ts'
import type { Command } from '../command.ts'
import { RECORD_OPTIONS } from './runs.ts'

export const costCommand: Command = {
  summary: 'Summarize iterations, tokens, time and cost of recorded runs.',
  usage: ['forkhestra cost [RUN] [--by run|agent|step|day|task] [--json]'],
  examples: [
    ['forkhestra cost', 'each run'],
    ['forkhestra cost --by task', 'cost per forge-tasks task'],
    ['forkhestra cost x7k2m --by step', 'the steps of one run'],
  ],
  json: 'object',
  options: {
    by: { value: '<what>', help: `${COST_KEYS.join(', ')} (default: run)` },
    ...RECORD_OPTIONS,
  },
  async run(input) {
    const { printCost } = await import('../records/print-cost.ts')
    return printCost(input)
  },
}
