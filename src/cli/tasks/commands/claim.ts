import { plainLine, toJson } from '../../../tasks/render.ts'
import type { Task } from '../../../tasks/task.ts'
import { UsageError, type Command, type Input } from '../../command.ts'
import {
  CLAIM_OPTIONS,
  openDatabase,
  readIds,
  readLease,
  TASK_OPTIONS,
  endedClaimLine,
} from '../database.ts'
import { print } from '../../print.ts'
import { printBrief } from '../render.ts'

export const claimCommand: Command = {
  summary: 'Claim a task; exit code 3 and the name of its owner if it is already claimed.',
  usage: ['forge-tasks claim ID [--as NAME] [--lease 2h]'],
  examples: [['forge-tasks claim TASK-007 --as me', 'In Progress, assigned to me']],
  options: { ...CLAIM_OPTIONS, ...TASK_OPTIONS },
  async run(input) {
    const database = openDatabase(input)
    const task = database.claim(onlyId(input), { leaseMs: readLease(input) })
    printBrief(database.view(task.id), input)
    return 0
  },
}

export const releaseCommand: Command = {
  summary: 'Release a task so that it can be claimed again.',
  usage: ['forge-tasks release ID'],
  examples: [['forge-tasks release TASK-007', 'To Do, without an assignee']],
  options: TASK_OPTIONS,
  async run(input) {
    const { task, message } = openDatabase(input).endClaim(onlyId(input), {
      onClaimEnded: (id, claim) => console.error(endedClaimLine(id, claim)),
    })
    if (input.flag('json')) print(JSON.stringify(toJson(task)))
    else if (input.flag('plain')) printReleased(task, message)
    else print(message)
    return 0
  },
}

/** The plain record has no hint for a task that is not free, so stderr gets it. */
function printReleased(task: Task, message: string): void {
  if (task.status !== 'To Do') console.error(message)
  print(plainLine(task))
}

export function onlyId(input: Input): string {
  const [id, ...more] = readIds(input)
  if (id === undefined)
    throw new UsageError('The id is missing.', 'Use an id such as TASK-001 or 1.')
  if (more.length > 0) throw new UsageError(`Unexpected argument '${more[0]}'.`, 'Pass one id.')
  return id
}
