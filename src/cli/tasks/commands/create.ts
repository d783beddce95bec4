import { printable } from '../../../base/printable.ts'
import { shellQuote } from '../../../base/shell-quote.ts'
import { statOf } from '../../../base/files.ts'
import { betterPlace, openProject } from '../../../setup/project.ts'
import { createTasks } from '../../../tasks/create.ts'
import type { Places } from '../../../tasks/store/places.ts'
import type { NewTask } from '../../../tasks/text/new-task.ts'
import { parseStatus, readPriority } from '../../../tasks/words.ts'
import { UsageError, type Command, type Input, type Options } from '../../command.ts'
import { createBatch } from '../batch.ts'
import { openDatabase, TASK_OPTIONS } from '../database.ts'
import { print } from '../print.ts'
import { withStdin } from '../stdin-text.ts'

/** What one task is made of. */
const FIELD_OPTIONS: Options = {
  description: { short: 'd', value: '<text>', help: 'why the task exists; -: from stdin' },
  ac: { value: '<text>', help: 'an acceptance criterion', repeats: true },
  label: { short: 'l', value: '<name>', help: 'a label', repeats: true },
  priority: { short: 'p', value: '<word>', help: 'high, medium, low or none' },
  assignee: { short: 'a', value: '<name>', help: 'who is to do it' },
  'depends-on': { value: '<id>', help: 'a task that has to be done before', repeats: true },
  parent: { value: '<id>', help: 'the task of which this is a part' },
  plan: { value: '<text>', help: 'how to go about it; -: from stdin' },
  due: { value: '<date>', help: 'until when' },
  status: { short: 's', value: '<word>', help: 'To Do if not given' },
}

export const createCommand: Command = {
  summary: 'Create a task and print its id.',
  usage: ['forge-tasks create "Title" [options]', 'forge-tasks create --batch < tasks.ndjson'],
  examples: [
    ['forge-tasks create "Add login" --ac "A wrong password is refused"', 'with a criterion'],
    ['forge-tasks create "Write docs" --depends-on 1 -p high -l docs', 'waits for TASK-001'],
    [`echo '{"title":"A","key":"a"}' | forge-tasks create --batch`, 'several at once, all or none'],
  ],
  options: {
    ...FIELD_OPTIONS,
    batch: { help: 'read tasks from stdin, one JSON object a line; "@key" refers to another one' },
    ...TASK_OPTIONS,
  },
  guesses: {
    title: 'The title needs no option: forge-tasks create "Title"',
    body: 'Write: --description "…"',
    criterion: 'Write: --ac "…"',
    tag: 'Write: --label NAME',
  },
  async run(input) {
    const isBatch = input.flag('batch')
    if (isBatch) refuseBesideBatch(input)
    const { places, now } = openDatabase(input)
    const beginning = statOf(places.tasks) === undefined ? beginningWords(input) : undefined
    const { tasks, ids } = isBatch
      ? createBatch(places, await Bun.stdin.text(), now)
      : createOne(places, readTask(await withStdin(input)), now)
    if (beginning !== undefined) console.error(`forge-tasks: ${beginning}`)
    if (input.flag('json')) print(JSON.stringify(isBatch ? { ids } : { id: ids[0] }))
    else if (input.flag('plain')) print(ids.join('\n'))
    else
      ids.forEach((id, index) => print(`Created ${id}: ${printable(tasks[index]!.title.trim())}`))
    return 0
  },
}

/** Whoever begins in the middle of a repository may have meant its top. */
function beginningWords(input: Input): string | undefined {
  const project = openProject(input.text('cwd'), process.env)
  const top = betterPlace(project)
  if (top === undefined) return undefined
  return `New project in ${project.here}; the top of the repository is ${top}`
}

function createOne(places: Places, task: NewTask, now: Date) {
  const tasks = [task]
  return { tasks, ids: createTasks(places, tasks, now) }
}

/** In a batch each line says all of its task. */
function refuseBesideBatch(input: Input): void {
  const option = Object.keys(FIELD_OPTIONS).find((name) => input.texts(name).length > 0)
  const [word] = [...input.positionals, ...input.rest]
  const surplus = option === undefined ? word : `--${option}`
  if (surplus === undefined) return
  throw new UsageError(
    `Unexpected argument '${surplus}' beside --batch.`,
    'Write it into the lines on stdin.',
  )
}

function readTask(input: Input): NewTask {
  const [title, ...more] = [...input.positionals, ...input.rest]
  if (title === undefined)
    throw new UsageError('The title is missing.', 'Write: forge-tasks create "Title"')
  if (more.length > 0)
    throw new UsageError(
      `Unexpected argument '${more[0]}'.`,
      `Put the title in quotes: forge-tasks create ${shellQuote([title, ...more].join(' '))}`,
    )
  const status = input.text('status')
  return {
    title,
    description: input.text('description'),
    criteria: input.texts('ac'),
    labels: input.texts('label'),
    priority: readPriority(input.text('priority')),
    assignee: input.text('assignee'),
    dependencies: input.texts('depends-on'),
    parent: input.text('parent'),
    plan: input.text('plan'),
    due: input.text('due'),
    status: status === undefined ? undefined : parseStatus(status),
  }
}
