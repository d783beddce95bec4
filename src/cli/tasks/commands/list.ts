import { UserError } from '../../../base/errors.ts'
import type { TaskDatabase } from '../../../tasks/database.ts'
import type { Filter } from '../../../tasks/list.ts'
import { explainedLine, toJson } from '../../../tasks/render.ts'
import { parseStatus, readPriority } from '../../../tasks/status.ts'
import { UsageError, type Command, type Input } from '../../command.ts'
import { openDatabase, readList, TASK_OPTIONS, warnBroken } from '../database.ts'
import { guessField, STATUS_GUESSES } from '../first-guesses.ts'
import { print } from '../../print.ts'
import { printTasks } from '../render.ts'

export const listCommand: Command = {
  summary: 'List tasks by priority and age.',
  usage: ['forge-tasks list [options]'],
  examples: [
    ['forge-tasks list --ready', 'ready tasks, in the order of `next`'],
    ['forge-tasks list --ready --explain', 'why each task is ready or not'],
    ['forge-tasks list --archived', 'archived tasks'],
    ['forge-tasks list -s todo -s blocked -l backend --plain', 'filtered, for scripts'],
  ],
  options: {
    status: { short: 's', value: '<word>', help: 'only this status', repeats: true },
    priority: { short: 'p', value: '<word>', help: 'only this priority, or none' },
    assignee: { short: 'a', value: '<name>', help: 'only this assignee' },
    label: { short: 'l', value: '<name>', help: 'only with this label', repeats: true },
    ready: { help: 'only ready tasks' },
    explain: { help: 'with --ready: all open tasks, and why each is ready or not' },
    'blocked-by': { value: '<id>', help: 'only tasks that depend on this one' },
    archived: { help: 'list the archive instead' },
    limit: { value: '<N>', help: 'at most N tasks' },
    ...TASK_OPTIONS,
  },
  guesses: STATUS_GUESSES,
  async run(input) {
    const [word] = [...input.positionals, ...input.rest]
    if (word !== undefined) {
      const guess = guessField(word) ?? '[options]'
      throw new UsageError(`Unexpected argument '${word}'.`, `Use: forge-tasks list ${guess}`)
    }
    const filter = readFilter(input)
    if (filter.archived === true && (input.flag('ready') || input.flag('explain'))) {
      throw new UsageError(
        '--archived cannot be combined with --ready.',
        'Archived tasks are never ready.',
      )
    }
    const database = openDatabase(input)
    if (input.flag('explain')) return explain(database, filter, input)
    const listing = input.flag('ready') ? database.ready(filter) : database.list(filter)
    warnBroken(listing)
    if (input.flag('json')) {
      print(JSON.stringify({ tasks: listing.tasks.map(toJson), broken: listing.broken }))
    } else if (listing.tasks.length > 0) printTasks(listing.tasks, input)
    else if (!input.flag('plain')) print(database.describeEmptyList(filter))
    return 0
  },
}

function explain(database: TaskDatabase, filter: Filter, input: Input): number {
  if (!input.flag('ready')) throw new UsageError('--explain needs --ready.')
  const { tasks, broken } = database.explainListing(filter)
  warnBroken({ broken })
  if (input.flag('json')) {
    const rows = tasks.map(({ task, ...why }) => ({ ...toJson(task), ...why }))
    print(JSON.stringify({ tasks: rows, broken }))
    return 0
  }
  if (tasks.length > 0) print(tasks.map(explainedLine).join('\n'))
  return 0
}

function readFilter(input: Input): Filter {
  return {
    statuses: readList(input, 'status').map(parseStatus),
    priority: readPriority(input.text('priority')),
    assignee: input.text('assignee'),
    labels: readList(input, 'label'),
    blockedBy: input.text('blocked-by'),
    limit: readLimit(input.text('limit')),
    archived: input.flag('archived'),
  }
}

function readLimit(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d+$/.test(text)) return Number(text)
  throw new UserError(`--limit must be a number, found '${text}'.`)
}
