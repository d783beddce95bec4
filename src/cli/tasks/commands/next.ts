import { nextTask } from '../../../tasks/claims/claims.ts'
import { renderWaiting } from '../../../tasks/render.ts'
import { makeBrief } from '../../../tasks/view.ts'
import type { Command } from '../../command.ts'
import { CLAIM_OPTIONS, openDatabase, readLease, TASK_OPTIONS, warnBroken } from '../database.ts'
import { printBrief } from '../render.ts'

export const nextCommand: Command = {
  summary: 'Show the first ready task with all that is needed to begin; with --claim, take it.',
  usage: ['forge-tasks next [--claim] [--as NAME] [--lease 2h]'],
  examples: [
    ['forge-tasks next', 'what would be next'],
    ['forge-tasks next --claim --plain', 'take it: nobody else gets the same one'],
  ],
  options: {
    claim: { help: 'set it In Progress and assigned, in the same moment' },
    ...CLAIM_OPTIONS,
    ...TASK_OPTIONS,
  },
  words: [],
  async run(input) {
    const { places, ...asking } = openDatabase(input)
    const options = { ...asking, leaseMs: readLease(input) }
    const { task, ...rest } = nextTask(places, options, input.flag('claim'))
    warnBroken(rest)
    if (task === undefined) {
      console.error(renderWaiting(rest).join('\n'))
      return 1
    }
    printBrief(makeBrief(places, task.id), input)
    return 0
  },
}
