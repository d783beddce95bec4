import { UserError } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import { checkTask } from '../../tasks/create.ts'
import { BatchError } from '../../tasks/batch-error.ts'
import type { TaskDatabase } from '../../tasks/database.ts'
import { checkDue } from '../../tasks/text/check-text.ts'
import type { NewTask } from '../../tasks/text/new-task.ts'
import { readPriority, readStatus } from '../../tasks/status.ts'
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

/** Creates all tasks of a text with one JSON object per line, or reports every mistake with its line. */
export function createBatch(
  database: TaskDatabase,
  text: string,
): { readonly tasks: readonly NewTask[]; readonly ids: readonly string[] } {
  if (text.trim() === '')
    throw new UsageError('stdin is empty.', 'Pass one JSON object per line: {"title":"…"}')
  if (text.trimStart().startsWith('['))
    throw new UsageError(
      'stdin is a JSON array.',
      "Pass one object per line, for example with: jq -c '.[]'",
    )
  const lines = text
    .split('\n')
    .flatMap((line, at) => (line.trim() === '' ? [] : [{ ...readLine(line), number: at + 1 }]))
  const tasks = lines.map(({ task }) => task)
  const mistakes = lines.flatMap((line, index) => line.mistakes.map((error) => ({ index, error })))
  const position = (index: number) => `stdin:${lines[index]!.number}`
  if (mistakes.length > 0)
    throw new BatchError([...mistakes, ...database.findMistakes(tasks)], position)
  return { tasks, ids: database.createAll(tasks, position) }
}

/** Collects all mistakes of a line. */
function readLine(text: string): { readonly task: NewTask; readonly mistakes: UserError[] } {
  const mistakes: UserError[] = []
  const report = (message: string, hint?: string) => mistakes.push(new UserError(message, hint))
  const attempt = <Result>(work: () => Result): Result | undefined => {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      mistakes.push(error)
      return undefined
    }
  }
  const fields = attempt(() => parseObject(text)) ?? {}
  for (const key of Object.keys(fields).filter((each) => !KEYS.includes(each)))
    report(`unknown key '${key}'.`, `Known keys: ${KEYS.join(', ')}.`)
  const readText = (key: string): string | undefined => {
    const value = fields[key]
    if (value === undefined || typeof value === 'string') return value
    report(`'${key}' must be a string.`)
    return undefined
  }
  const readList = (key: string): readonly string[] => {
    const value = fields[key] ?? []
    if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value
    report(`'${key}' must be a list of strings.`)
    return []
  }
  const [title, status, due] = ['title', 'status', 'due'].map(readText)
  if (title === undefined && mistakes.length === 0) report('the title is missing.')
  const task: NewTask = {
    key: readText('key'),
    title: title ?? '',
    description: readText('description'),
    criteria: readList('ac'),
    labels: readList('labels'),
    priority: attempt(() => readPriority(readText('priority'))),
    assignee: readText('assignee'),
    dependencies: readList('dependsOn'),
    parent: readText('parent'),
    plan: readText('plan'),
    due,
    status: attempt(() => readStatus(status)),
  }
  if (title !== undefined) attempt(() => checkTask(task))
  if (due !== undefined) attempt(() => checkDue(due))
  return { task, mistakes }
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
