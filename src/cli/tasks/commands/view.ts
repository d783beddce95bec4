import { readHistory } from '../../../tasks/history.ts'
import { scanTasks } from '../../../tasks/store/scan.ts'
import { makeBrief } from '../../../tasks/view.ts'
import type { Command } from '../../command.ts'
import { openDatabase, TASK_OPTIONS, warnBroken } from '../database.ts'
import { printBrief } from '../render.ts'
import { onlyId } from './claim.ts'

export const viewCommand: Command = {
  summary: 'Show one task: criteria, dependencies and their states, what it blocks, its history.',
  usage: ['forge-tasks view ID [--history]'],
  examples: [
    ['forge-tasks view 7', 'the same as TASK-007'],
    ['forge-tasks view 7 --history', 'with the commits that changed it'],
  ],
  options: { history: { help: 'also what git knows of it' }, ...TASK_OPTIONS },
  async run(input) {
    const { places } = openDatabase(input)
    const scan = scanTasks(places)
    // A file that cannot be shown is named by the refusal already.
    const brief = makeBrief(places, onlyId(input), scan)
    warnBroken(scan)
    const commits = input.flag('history') ? readHistory(places, brief.path) : undefined
    printBrief(commits === undefined ? brief : { ...brief, commits }, input)
    return 0
  },
}
