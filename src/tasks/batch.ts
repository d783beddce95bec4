import { UserError } from '../base/errors.ts'
import { isObject, parseJson } from '../base/json.ts'
import { BatchError } from './batch-error.ts'
import { checkTask, createTasks, findMistakes } from './create.ts'
import type { TaskFolders } from './folders.ts'
import { readPriority, readStatus } from './status.ts'
import { checkDue } from './text/check-text.ts'
import type { NewTask } from './text/new-task.ts'

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

export interface Batch {
  readonly tasks: readonly NewTask[]
  readonly ids: readonly string[]
}

/** Creates all tasks of a text with one JSON object per line, or reports every mistake with its line. */
export function createBatch(folders: TaskFolders, text: string, source: string, now: Date): Batch {
  const lines = text
    .split('\n')
    .flatMap((line, at) => (line.trim() === '' ? [] : [{ ...readLine(line), number: at + 1 }]))
  const tasks = lines.map(({ task }) => task)
  const mistakes = lines.flatMap((line, index) => line.mistakes.map((error) => ({ index, error })))
  const position = (index: number) => `${source}:${lines[index]!.number}`
  if (mistakes.length > 0)
    throw new BatchError([...mistakes, ...findMistakes(folders, tasks)], position)
  return { tasks, ids: createTasks(folders, tasks, now, position) }
}

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
  if (isObject(value)) return value
  throw new UserError('not a JSON object.')
}
