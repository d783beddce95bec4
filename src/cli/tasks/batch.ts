import { UserError, type Problem } from '../../base/errors.ts'
import { checkTask } from '../../tasks/create.ts'
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

interface Mistake extends Problem {
  readonly exitCode: number
}

/** Every mistake of a batch, each with its line. */
class BatchError extends UserError {
  override readonly exitCode: number
  readonly #problems: readonly Problem[]

  constructor(mistakes: readonly Mistake[]) {
    const problems = mistakes.map(({ message, hint }) => ({ message, hint }))
    const [only, ...more] = problems
    if (more.length === 0) super(only!.message, only!.hint)
    else
      super(problems.map(({ message, hint }) => `${message}${hint ? ` ${hint}` : ''}`).join('\n'))
    this.exitCode = Math.max(...mistakes.map(({ exitCode }) => exitCode))
    this.#problems = problems
  }

  override get problems(): readonly Problem[] {
    return this.#problems
  }
}

/** One line of stdin, and what is wrong with it. */
class Line {
  readonly number: number
  readonly mistakes: Mistake[] = []
  #fields: Readonly<Record<string, unknown>> = {}

  constructor(text: string, number: number) {
    this.number = number
    this.attempt(() => {
      this.#fields = parseObject(text)
    })
    const unknown = Object.keys(this.#fields).filter((key) => !KEYS.includes(key))
    for (const key of unknown) this.report(`'${key}' is unknown.`, `Known: ${KEYS.join(', ')}.`)
  }

  report(message: string, hint?: string, exitCode = 2): void {
    this.mistakes.push({ message: `stdin:${this.number}: ${message}`, hint, exitCode })
  }

  /** Keeps a mistake instead of stopping at it. */
  attempt<Result>(work: () => Result): Result | undefined {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      this.report(error.message, error.hint, error.exitCode)
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
export function parseBatch(text: string): NewTask[] {
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
  checkKeys(read)
  const mistakes = read.flatMap(({ line }) => line.mistakes)
  if (mistakes.length > 0) throw new BatchError(mistakes)
  return read.map(({ task }) => task)
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

/** Each key is there once, and `@key` means one that is there. */
function checkKeys(read: readonly Read[]): void {
  const lines = new Map<string, number>()
  for (const { line, task } of read) {
    if (task.key === undefined) continue
    const first = lines.get(task.key)
    if (first === undefined) lines.set(task.key, line.number)
    else line.report(`The key '${task.key}' is there twice.`, `Line ${first} has it too.`, 1)
  }
  for (const { line, task } of read) {
    const words = [
      ...(task.dependencies ?? []),
      ...(task.parent === undefined ? [] : [task.parent]),
    ]
    const unknown = words.filter((word) => word.startsWith('@') && !lines.has(word.slice(1)))
    for (const word of unknown) {
      line.report(`No task of this batch has the key '${word.slice(1)}'.`, undefined, 1)
    }
  }
}

function parseObject(line: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    throw new UserError('this is no JSON.')
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>
  throw new UserError('this is no JSON object.')
}
