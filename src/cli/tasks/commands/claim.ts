import { parseDuration } from '../../../base/durations.ts'
import { claimTask, releaseTask } from '../../../tasks/claims.ts'
import { makeBrief } from '../../../tasks/view.ts'
import { UsageError, type Command, type Input } from '../../command.ts'
import { AS_OPTION, openDatabase, TASK_OPTIONS } from '../database.ts'
import { briefToJson, renderBrief, toJson } from '../render.ts'

export const claimCommand: Command = {
  summary: 'Take one task; exit code 3 and the name of the owner where another one has it.',
  usage: ['forge-tasks claim ID [--as NAME] [--lease 2h]'],
  examples: [['forge-tasks claim TASK-007 --as me', 'In Progress, assigned to me']],
  options: {
    ...AS_OPTION,
    lease: { value: '<time>', help: 'how long a claim outside of a run holds (2h)' },
    ...TASK_OPTIONS,
  },
  async run(input) {
    const { places, owner, now } = openDatabase(input)
    const lease = input.text('lease')
    const leaseMs = lease === undefined ? undefined : parseDuration(lease, '--lease')
    const task = claimTask(places, onlyId(input), { owner, now, leaseMs })
    const brief = makeBrief(places, task.id, '')
    console.log(input.flag('json') ? JSON.stringify(briefToJson(brief)) : renderBrief(brief))
    return 0
  },
}

export const releaseCommand: Command = {
  summary: 'Give a task back, so that it can be begun again.',
  usage: ['forge-tasks release ID'],
  examples: [['forge-tasks release TASK-007', 'To Do, assigned to nobody']],
  options: { ...AS_OPTION, ...TASK_OPTIONS },
  async run(input) {
    const { places, owner, now } = openDatabase(input)
    const task = releaseTask(places, onlyId(input), { owner, now })
    console.log(input.flag('json') ? JSON.stringify(toJson(task)) : `Released ${task.id}`)
    return 0
  },
}

export function onlyId(input: Input): string {
  const [id, ...more] = input.positionals
  if (id === undefined) throw new UsageError('The id is missing.', 'Write e.g. TASK-001 or 1.')
  if (more.length > 0) throw new UsageError(`Unexpected argument '${more[0]}'.`, 'Give one id.')
  return id
}
