import { parseDuration } from '../../../base/durations.ts'
import { nextTask } from '../../../tasks/claims.ts'
import { makeBrief } from '../../../tasks/view.ts'
import type { Command } from '../../command.ts'
import { AS_OPTION, openDatabase, TASK_OPTIONS } from '../database.ts'
import { briefToJson, renderBrief } from '../render.ts'

export const nextCommand: Command = {
  summary: 'Show the first ready task with all that is needed to begin; with --claim, take it.',
  usage: ['forge-tasks next [--claim] [--as NAME] [--lease 2h]'],
  examples: [
    ['forge-tasks next', 'what would be next'],
    ['forge-tasks next --claim --plain', 'take it: nobody else gets the same one'],
  ],
  options: {
    claim: { help: 'set it In Progress and assigned, in the same moment' },
    ...AS_OPTION,
    lease: { value: '<time>', help: 'how long a claim outside of a run holds (2h)' },
    ...TASK_OPTIONS,
  },
  words: [],
  async run(input) {
    const { places, owner, now } = openDatabase(input)
    const lease = input.text('lease')
    const leaseMs = lease === undefined ? undefined : parseDuration(lease, '--lease')
    const { task, waiting } = nextTask(places, { owner, now, leaseMs }, input.flag('claim'))
    if (task === undefined) {
      if (input.flag('json')) console.log(JSON.stringify({ task: null, waiting }))
      console.error(waiting.length === 0 ? 'No open tasks.' : 'No task is ready:')
      for (const each of waiting) console.error(`  ${each.task.id}: ${each.reasons.join('; ')}`)
      return 1
    }
    const brief = makeBrief(places, task.id, '')
    console.log(input.flag('json') ? JSON.stringify(briefToJson(brief)) : renderBrief(brief))
    return 0
  },
}
