import { renderWaiting } from '../../../tasks/render.ts'
import type { Command } from '../../command.ts'
import { CLAIM_OPTIONS, openDatabase, readLease, TASK_OPTIONS, warnBroken } from '../database.ts'
import { printBrief } from '../render.ts'

export const nextCommand: Command = {
  summary: 'Show the first ready task in full; with --claim, claim it.',
  usage: ['forge-tasks next [--claim] [--as NAME] [--lease 2h]'],
  examples: [
    ['forge-tasks next', 'show the next task'],
    ['forge-tasks next --claim --plain', 'claim it, so that no other agent gets it'],
  ],
  options: {
    claim: { help: 'set it In Progress and assign it, atomically' },
    ...CLAIM_OPTIONS,
    ...TASK_OPTIONS,
  },
  words: [],
  async run(input) {
    const options = { claim: input.flag('claim'), leaseMs: readLease(input) }
    const { brief, ...rest } = openDatabase(input).findNext(options)
    warnBroken(rest)
    if (brief === undefined) {
      console.error(renderWaiting(rest).join('\n'))
      return 1
    }
    printBrief(brief, input)
    return 0
  },
}
