import { UserError } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import { checkTask, createTasks, findFaults } from '../../tasks/create.ts'
import { tellFaults, type Fault, type PlaceOf } from '../../tasks/mistakes.ts'
import type { Places } from '../../tasks/store/places.ts'
import { checkDue } from '../../tasks/text/check-text.ts'
import type { NewTask } from '../../tasks/text/new-task.ts'
import { parseStatus, readPriority } from '../../tasks/words.ts'
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

/** One line of stdin, and what is wrong with it. */
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
    for (const key of unknown) this.report(`'${key}' is unknown.`, `Known: ${KEYS.join(', ')}.`)
  }

  report(message: string, hint?: string): void {
    this.mistakes.push(new UserError(message, hint))
  }

  /** Keeps a mistake instead of stopping at it. */
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
    this.report(`'${key}' is no string.`)
    return undefined
  }

  list(key: string): readonly string[] {
    const value = this.#fields[key] ?? []
    if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value
    this.report(`'${key}' is no list of strings.`)
    return []
  }
}

interface Read {
  readonly line: Line
  readonly task: NewTask
}

/** The tasks that stand on stdin, one JSON object a line. */
interface Batch {
  readonly tasks: readonly NewTask[]
  readonly faults: readonly Fault[]
  readonly placeOf: PlaceOf
}

/** Makes them, all or none; every mistake is told with its line. */
export function createBatch(
  places: Places,
  text: string,
  now: Date,
): { readonly tasks: readonly NewTask[]; readonly ids: readonly string[] } {
  const { tasks, faults, placeOf } = readBatch(text)
  if (faults.length > 0) throw tellFaults([...faults, ...findFaults(places, tasks)], placeOf)
  return { tasks, ids: createTasks(places, tasks, now, placeOf) }
}

function readBatch(text: string): Batch {
  if (text.trim() === '')
    throw new UsageError('There is nothing on stdin.', 'One JSON object a line: {"title":"…"}')
  if (text.trimStart().startsWith('['))
    throw new UsageError(
      'stdin is a JSON array.',
      "Write one object a line, e.g. with: jq -c '.[]'",
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
    throw new UserError('this is no JSON.')
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>
  throw new UserError('this is no JSON object.')
}
