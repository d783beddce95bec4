import type { Command } from '../../command.ts'
import { openDatabase, TASK_OPTIONS, warnBroken } from '../database.ts'
import { printBrief } from '../render.ts'
import { onlyId } from './claim.ts'

export const viewCommand: Command = {
  summary: 'Show one task: criteria, dependencies, what it blocks, its history.',
  usage: ['forge-tasks view ID [--history]'],
  examples: [
    ['forge-tasks view 7', 'the same as TASK-007'],
    ['forge-tasks view 7 --history', 'with the commits that changed it'],
  ],
  options: { history: { help: 'include the commits that changed it' }, ...TASK_OPTIONS },
  async run(input) {
    const brief = openDatabase(input).view(onlyId(input), {
      history: input.flag('history'),
      onBroken: (broken) => warnBroken({ broken }),
    })
    printBrief(brief, input)
    return 0
  },
}
