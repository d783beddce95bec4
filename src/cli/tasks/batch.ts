import { UserError } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import { checkTask } from '../../tasks/create.ts'
import { BatchError, type DescribePosition, type TaskMistake } from '../../tasks/batch-error.ts'
import type { TaskDatabase } from '../../tasks/database.ts'
import { checkDue } from '../../tasks/text/check-text.ts'
import type { NewTask } from '../../tasks/text/new-task.ts'
import { parseStatus, readPriority } from '../../tasks/status.ts'
import { UsageError } from '../command.ts'

const KEYS = [
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

/** One line of stdin and its mistakes. */
class Line {
  readonly number: number
  readonly mistakes: UserError[] = []
  #fields: Readonly<Record<string, unknown>> = {}

  constructor(text: string, number: number) {
    this.number = number
    this.attempt(() => {
      this.#fields = parseObject(text)
    })
    const unknown = Object.keys(this.#fields).filter((key) => !KEYS.includes(key))
    for (const key of unknown)
      this.report(`unknown key '${key}'.`, `Known keys: ${KEYS.join(', ')}.`)
  }

  report(message: string, hint?: string): void {
    this.mistakes.push(new UserError(message, hint))
  }

  /** Records a mistake instead of throwing it. */
  attempt<Result>(work: () => Result): Result | undefined {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      this.mistakes.push(error)
      return undefined
    }
  }

  text(key: string): string | undefined {
    const value = this.#fields[key]
    if (value === undefined || typeof value === 'string') return value
    this.report(`'${key}' must be a string.`)
    return undefined
  }

  list(key: string): readonly string[] {
    const value = this.#fields[key] ?? []
    if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value
    this.report(`'${key}' must be a list of strings.`)
    return []
  }
}

interface Read {
  readonly line: Line
  readonly task: NewTask
}

interface Batch {
  readonly tasks: readonly NewTask[]
  readonly faults: readonly TaskMistake[]
  readonly placeOf: DescribePosition
}

/** Creates all tasks of a text with one JSON object per line, or reports every mistake with its line. */
export function createBatch(
  database: TaskDatabase,
  text: string,
): { readonly tasks: readonly NewTask[]; readonly ids: readonly string[] } {
  const { tasks, faults, placeOf } = readBatch(text)
  if (faults.length > 0) throw new BatchError([...faults, ...database.findMistakes(tasks)], placeOf)
  return { tasks, ids: database.createAll(tasks, placeOf) }
}

function readBatch(text: string): Batch {
  if (text.trim() === '')
    throw new UsageError('stdin is empty.', 'Pass one JSON object per line: {"title":"…"}')
  if (text.trimStart().startsWith('['))
    throw new UsageError(
      'stdin is a JSON array.',
      "Pass one object per line, for example with: jq -c '.[]'",
    )
  const read = text
    .split('\n')
    .flatMap((line, index) => (line.trim() === '' ? [] : [readLine(new Line(line, index + 1))]))
  return {
    tasks: read.map(({ task }) => task),
    faults: read.flatMap(({ line }, index) => line.mistakes.map((error) => ({ index, error }))),
    placeOf: (index) => `stdin:${read[index]!.line.number}`,
  }
}

function readLine(line: Line): Read {
  const [title, status, due] = [line.text('title'), line.text('status'), line.text('due')]
  if (title === undefined && line.mistakes.length === 0) line.report('the title is missing.')
  const task: NewTask = {
    key: line.text('key'),
    title: title ?? '',
    description: line.text('description'),
    criteria: line.list('ac'),
    labels: line.list('labels'),
    priority: line.attempt(() => readPriority(line.text('priority'))),
    assignee: line.text('assignee'),
    dependencies: line.list('dependsOn'),
    parent: line.text('parent'),
    plan: line.text('plan'),
    due,
    status: status === undefined ? undefined : line.attempt(() => parseStatus(status)),
  }
  if (title !== undefined) line.attempt(() => checkTask(task))
  if (due !== undefined) line.attempt(() => checkDue(due))
  return { line, task }
}

function parseObject(line: string): Record<string, unknown> {
  let value: unknown
  try {
    value = parseJson(line)
  } catch {
    throw new UserError('not valid JSON.')
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>
  throw new UserError('not a JSON object.')
}
