import { readConfig } from '../../../tasks/config.ts'
import { makeBrief } from '../../../tasks/view.ts'
import type { Command } from '../../command.ts'
import { openDatabase, TASK_OPTIONS } from '../database.ts'
import { briefToJson, renderBrief } from '../render.ts'
import { onlyId } from './claim.ts'

export const viewCommand: Command = {
  summary: 'Show one task: criteria, dependencies and their states, what it blocks, its history.',
  usage: ['forge-tasks view ID'],
  examples: [['forge-tasks view 7', 'the same as TASK-007']],
  options: TASK_OPTIONS,
  async run(input) {
    const { places } = openDatabase(input)
    const brief = makeBrief(places, onlyId(input), readConfig(places).prefix)
    console.log(input.flag('json') ? JSON.stringify(briefToJson(brief)) : renderBrief(brief))
    return 0
  },
}
