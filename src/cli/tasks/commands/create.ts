import { UserError } from '../../../base/errors.ts'
import { createTasks } from '../../../tasks/create.ts'
import type { NewTask } from '../../../tasks/text/new-task.ts'
import { parseStatus, readPriority } from '../../../tasks/words.ts'
import { UsageError, type Command, type Input, type Options } from '../../command.ts'
import { openDatabase, TASK_OPTIONS } from '../database.ts'

/** What one task is made of. */
const FIELD_OPTIONS: Options = {
  description: { short: 'd', value: '<text>', help: 'why the task exists' },
  ac: { value: '<text>', help: 'an acceptance criterion', repeats: true },
  label: { short: 'l', value: '<name>', help: 'a label', repeats: true },
  priority: { short: 'p', value: '<word>', help: 'high, medium, low or none' },
  assignee: { short: 'a', value: '<name>', help: 'who is to do it' },
  'depends-on': { value: '<id>', help: 'a task that has to be done before', repeats: true },
  parent: { value: '<id>', help: 'the task of which this is a part' },
  plan: { value: '<text>', help: 'how to go about it' },
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
  async run(input) {
    const isBatch = input.flag('batch')
    if (isBatch) refuseBesideBatch(input)
    const { places, now } = openDatabase(input)
    const tasks = isBatch ? parseBatch(await Bun.stdin.text()) : [readTask(input)]
    const ids = createTasks(places, tasks, now)
    if (input.flag('json')) console.log(JSON.stringify(isBatch ? { ids } : { id: ids[0] }))
    else if (input.flag('plain')) console.log(ids.join('\n'))
    else ids.forEach((id, index) => console.log(`Created ${id}: ${tasks[index]!.title.trim()}`))
    return 0
  },
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
    throw new UsageError(`Unexpected argument '${more[0]}'.`, 'Put the title in quotes.')
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

const BATCH_KEYS = [
  'key',
  'title',
  'description',
  'ac',
  'labels',
  'priority',
  'assignee',
  'dependsOn',
  'parent',
  'plan',
  'due',
  'status',
]

function parseBatch(text: string): NewTask[] {
  const lines = text
    .split('\n')
    .flatMap((line, index) => (line.trim() === '' ? [] : [{ line, number: index + 1 }]))
  if (lines.length === 0)
    throw new UsageError('There is nothing on stdin.', 'One JSON object a line: {"title":"…"}')
  return lines.map(({ line, number }) => parseBatchLine(line, number))
}

function parseBatchLine(line: string, number: number): NewTask {
  const fields = parseObject(line, number)
  const unknown = Object.keys(fields).find((key) => !BATCH_KEYS.includes(key))
  if (unknown !== undefined) {
    throw new UserError(
      `stdin:${number}: '${unknown}' is unknown.`,
      `Known: ${BATCH_KEYS.join(', ')}.`,
    )
  }
  const text = (key: string) => {
    const value = fields[key]
    if (value === undefined || typeof value === 'string') return value
    throw new UserError(`stdin:${number}: '${key}' is no string.`)
  }
  const list = (key: string) => {
    const value = fields[key] ?? []
    if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value
    throw new UserError(`stdin:${number}: '${key}' is no list of strings.`)
  }
  const [title, status] = [text('title'), text('status')]
  if (title === undefined) throw new UserError(`stdin:${number}: the title is missing.`)
  return {
    key: text('key'),
    title,
    description: text('description'),
    criteria: list('ac'),
    labels: list('labels'),
    priority: readPriority(text('priority')),
    assignee: text('assignee'),
    dependencies: list('dependsOn'),
    parent: text('parent'),
    plan: text('plan'),
    due: text('due'),
    status: status === undefined ? undefined : parseStatus(status),
  }
}

function parseObject(line: string, number: number): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    throw new UserError(`stdin:${number}: this is no JSON.`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>
  throw new UserError(`stdin:${number}: this is no JSON object.`)
}
