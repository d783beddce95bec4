import { claimTask, releaseTask } from '../../../tasks/claims/claims.ts'
import { plainLine, toJson } from '../../../tasks/render.ts'
import type { Task } from '../../../tasks/task.ts'
import { makeBrief } from '../../../tasks/view.ts'
import { UsageError, type Command, type Input } from '../../command.ts'
import { CLAIM_OPTIONS, openDatabase, readIds, readLease, TASK_OPTIONS } from '../database.ts'
import { print } from '../print.ts'
import { printBrief } from '../render.ts'
import { takenLine } from '../taken.ts'

export const claimCommand: Command = {
  summary: 'Take one task; exit code 3 and the name of the owner where another one has it.',
  usage: ['forge-tasks claim ID [--as NAME] [--lease 2h]'],
  examples: [['forge-tasks claim TASK-007 --as me', 'In Progress, assigned to me']],
  options: { ...CLAIM_OPTIONS, ...TASK_OPTIONS },
  async run(input) {
    const { places, ...asking } = openDatabase(input)
    const task = claimTask(places, onlyId(input), { ...asking, leaseMs: readLease(input) })
    printBrief(makeBrief(places, task.id), input)
    return 0
  },
}

export const releaseCommand: Command = {
  summary: 'Give a task back, so that it can be begun again.',
  usage: ['forge-tasks release ID'],
  examples: [['forge-tasks release TASK-007', 'To Do, assigned to nobody']],
  options: TASK_OPTIONS,
  async run(input) {
    const { places, ...asking } = openDatabase(input)
    const { task, words } = releaseTask(places, onlyId(input), {
      ...asking,
      onTaken: (id, claim) => console.error(takenLine(id, claim)),
    })
    if (input.flag('json')) print(JSON.stringify(toJson(task)))
    else if (input.flag('plain')) printReleased(task, words)
    else print(words)
    return 0
  },
}

/** The record says what became of the task, but not what to do where it is not free. */
function printReleased(task: Task, words: string): void {
  if (task.status !== 'To Do') console.error(words)
  print(plainLine(task))
}

export function onlyId(input: Input): string {
  const [id, ...more] = readIds(input)
  if (id === undefined) throw new UsageError('The id is missing.', 'Write e.g. TASK-001 or 1.')
  if (more.length > 0) throw new UsageError(`Unexpected argument '${more[0]}'.`, 'Give one id.')
  return id
}
