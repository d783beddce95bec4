import { printable } from '../../../base/terminal/printable.ts'
import { doubleQuote, shellQuote } from '../../../base/shell-quote.ts'
import { statOf } from '../../../base/files.ts'
import { refuseNestedProject, openProject } from '../../../host/project.ts'
import type { TaskDatabase } from '../../../tasks/database.ts'
import type { NewTask } from '../../../tasks/text/new-task.ts'
import { readPriority, readStatus } from '../../../tasks/status.ts'
import { UsageError, type Command, type Input, type Options } from '../../command.ts'
import { openDatabase, readList, TASK_OPTIONS } from '../database.ts'
import { print } from '../../print.ts'
import { readTextOnStdin, withStdin } from '../stdin-text.ts'

const FIELD_OPTIONS: Options = {
  description: { short: 'd', value: '<text>', help: 'why the task exists; -: from stdin' },
  ac: { value: '<text>', help: 'an acceptance criterion', repeats: true },
  label: { short: 'l', value: '<name>', help: 'a label, or several: a,b', repeats: true },
  priority: { short: 'p', value: '<word>', help: 'high, medium, low or none' },
  assignee: { short: 'a', value: '<name>', help: 'who should do it' },
  'depends-on': {
    value: '<id>',
    help: 'a task that must be done first, or several: 1,2',
    repeats: true,
  },
  parent: { value: '<id>', help: 'the task that this one is part of' },
  plan: { value: '<text>', help: 'how to do it; -: from stdin' },
  due: { value: '<date>', help: 'due date' },
  status: { short: 's', value: '<word>', help: 'default: To Do' },
}

export const createCommand: Command = {
  summary: 'Create a task and print its id.',
  usage: ['forge-tasks create "Title" [options]', 'forge-tasks create --batch < tasks.ndjson'],
  examples: [
    ['forge-tasks create "Add login" --ac "A wrong password is refused"', 'with a criterion'],
    ['forge-tasks create "Write docs" --depends-on 1 -p high -l docs', 'depends on TASK-001'],
    [`echo '{"title":"A","key":"a"}' | forge-tasks create --batch`, 'several at once, all or none'],
  ],
  options: {
    ...FIELD_OPTIONS,
    batch: {
      help: 'read tasks from stdin, one JSON object per line; "@key" refers to another one',
    },
    ...TASK_OPTIONS,
  },
  guesses: {
    title: 'Pass the title without an option: forge-tasks create "Title"',
    body: 'Use: --description "…"',
    criterion: 'Use: --ac "…"',
    tag: 'Use: --label NAME',
  },
  async run(input) {
    const isBatch = input.flag('batch')
    if (isBatch) refuseBesideBatch(input)
    const database = openDatabase(input)
    if (statOf(database.folder) === undefined)
      refuseNestedProject(openProject(input.text('cwd'), process.env), commandOf(input))
    const { tasks, ids } = isBatch
      ? await createBatch(database, await readTextOnStdin())
      : createOne(database, readTask(await withStdin(input)))
    if (input.flag('json')) print(JSON.stringify(isBatch ? { ids } : { id: ids[0] }))
    else if (input.flag('plain')) print(ids.join('\n'))
    else
      ids.forEach((id, index) => print(`Created ${id}: ${printable(tasks[index]!.title.trim())}`))
    return 0
  },
}

function createBatch(database: TaskDatabase, text: string) {
  if (text.trim() === '')
    throw new UsageError('stdin is empty.', 'Pass one JSON object per line: {"title":"…"}')
  if (text.trimStart().startsWith('['))
    throw new UsageError(
      'stdin is a JSON array.',
      "Pass one object per line, for example with: jq -c '.[]'",
    )
  return database.createBatch(text, 'stdin')
}

/** The part of the typed command that a hint needs. */
function commandOf(input: Input): string {
  const words = [...input.positionals, ...input.rest].map(doubleQuote)
  const hasMore = Object.keys(FIELD_OPTIONS).some((name) => input.texts(name).length > 0)
  const batch = input.flag('batch') ? ['--batch'] : []
  return ['forge-tasks create', ...words, ...batch, ...(hasMore ? ['…'] : [])].join(' ')
}

function createOne(database: TaskDatabase, task: NewTask) {
  return { tasks: [task], ids: [database.create(task)] }
}

function refuseBesideBatch(input: Input): void {
  const option = Object.keys(FIELD_OPTIONS).find((name) => input.texts(name).length > 0)
  const [word] = [...input.positionals, ...input.rest]
  const surplus = option === undefined ? word : `--${option}`
  if (surplus === undefined) return
  throw new UsageError(
    `'${surplus}' cannot be combined with --batch.`,
    'Put it into the lines on stdin.',
  )
}

function readTask(input: Input): NewTask {
  const [title, ...more] = [...input.positionals, ...input.rest]
  if (title === undefined)
    throw new UsageError('The title is missing.', 'Use: forge-tasks create "Title"')
  if (more.length > 0)
    throw new UsageError(
      `Unexpected argument '${more[0]}'.`,
      `Put the title in quotes: forge-tasks create ${shellQuote([title, ...more].join(' '))}`,
    )
  return {
    title,
    description: input.text('description'),
    criteria: input.texts('ac'),
    labels: readList(input, 'label'),
    priority: readPriority(input.text('priority')),
    assignee: input.text('assignee'),
    dependencies: readList(input, 'depends-on'),
    parent: input.text('parent'),
    plan: input.text('plan'),
    due: input.text('due'),
    status: readStatus(input.text('status')),
  }
}
