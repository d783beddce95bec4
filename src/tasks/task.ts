import {
  BrokenFile,
  lineOf,
  readFields,
  readItems,
  readRaw,
  splitFile,
  type Fields,
  type FileParts,
} from './text/fields.ts'
import { canonicalId, normalId } from './id.ts'
import { idOfFileName } from './file-name.ts'
import {
  findPriority,
  findStatus,
  PRIORITIES,
  STATUSES,
  type Priority,
  type Status,
} from './status.ts'

/** The frontmatter of a task file. */
export interface Task {
  readonly id: string
  readonly title: string
  readonly status: Status
  readonly priority: Priority | undefined
  readonly assignee: string | undefined
  readonly labels: readonly string[]
  readonly dependencies: readonly string[]
  readonly parent: string | undefined
  readonly due: string | undefined
  readonly createdAt: string
  /** File name, relative to the folder of the tasks. */
  readonly file: string
}

interface Frontmatter {
  readonly fields: Fields
  readonly parts: FileParts
}

/** Throws `BrokenFile` with the line of the problem. */
export function parseTask(text: string, file: string): Task {
  const parts = splitFile(text)
  const from = { fields: readFields(parts), parts }
  const parent = readWord(from, 'parent')
  return {
    id: readTaskId(from, file),
    title: readTitle(from, file),
    status: readChoice(from, 'status', findStatus, STATUSES) ?? 'To Do',
    priority: readChoice(from, 'priority', findPriority, PRIORITIES),
    assignee: readWord(from, 'assignee'),
    labels: readList(from, 'labels'),
    dependencies: [...new Set(readList(from, 'dependencies').map(normalId))],
    parent: parent === undefined ? undefined : normalId(parent),
    due: readWord(from, 'due') ?? readWord(from, 'dueDate'),
    createdAt: readWord(from, 'createdAt') ?? '',
    file,
  }
}

function readTaskId(from: Frontmatter, file: string): string {
  const written = readWord(from, 'id')
  const id = written === undefined ? idOfFileName(file) : canonicalId(written)
  if (id !== undefined) return id
  const found = written === undefined ? 'the id is missing' : `'${written}' is not a valid id`
  throw new BrokenFile(`${found}; write, for example, "id: TASK-001"`, lineOf(from.parts, 'id'))
}

function readTitle(from: Frontmatter, file: string): string {
  const title = readWord(from, 'title')?.replaceAll(/\s+/g, ' ')
  return title || file.replace(/\.md$/, '').replace(/^\S+ - /, '')
}

/** A word that must be one of those that are known. */
function readChoice<Choice extends string>(
  { fields, parts }: Frontmatter,
  key: string,
  find: (word: string) => Choice | undefined,
  known: readonly Choice[],
): Choice | undefined {
  const written = readWord({ fields, parts }, key)
  const choice = written === undefined ? undefined : find(written)
  if (written === undefined || choice !== undefined) return choice
  throw new BrokenFile(
    `unknown ${key} '${written}', expected one of: ${known.join(', ')}`,
    lineOf(parts, key),
  )
}

/** A single value as it is written, even if YAML reads it as a number or a date. */
function readWord({ fields, parts }: Frontmatter, key: string): string | undefined {
  const value = fields[key]
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value === 'string') return value.trim()
  if (Array.isArray(value)) return readList({ fields, parts }, key).join(', ') || undefined
  return readRaw(parts, fields, key)
}

function readList({ fields, parts }: Frontmatter, key: string): string[] {
  const items = readItems(parts, fields, key).map((item) => item.trim())
  return items.filter((item) => item !== '')
}

const RANKS = { high: 0, medium: 1, none: 2, low: 3 } as const

/** Tasks without a priority rank between medium and low. */
export function priorityOf({ priority }: Task): number {
  return RANKS[priority ?? 'none']
}

/** Oldest first, then by number. */
export function byAge(a: Task, b: Task): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? -1 : 1
  if (a.id !== b.id) return a.id.length - b.id.length || (a.id < b.id ? -1 : 1)
  if (a.file === b.file) return 0
  return a.file < b.file ? -1 : 1
}

export function inListOrder(a: Task, b: Task): number {
  return priorityOf(a) - priorityOf(b) || byAge(a, b)
}
