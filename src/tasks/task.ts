import {
  BrokenFile,
  lineOf,
  readFields,
  readItems,
  readRaw,
  splitFile,
  type Fields,
  type Parts,
} from './text/fields.ts'
import { normalId, readId, renderId } from './id.ts'
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

/** Throws `BrokenFile` with the line of the problem. */
export function parseTask(text: string, file: string): Task {
  const parts = splitFile(text)
  const fields = readFields(parts)
  return {
    id: readTaskId(fields, parts, file),
    title: readTitle(fields, parts, file),
    status: readStatus(fields, parts),
    priority: readPriority(fields, parts),
    assignee: readWord(fields, parts, 'assignee'),
    labels: readList(fields, parts, 'labels'),
    dependencies: [...new Set(readList(fields, parts, 'dependencies').map(normalId))],
    parent: optional(readWord(fields, parts, 'parent'), normalId),
    due: readWord(fields, parts, 'due') ?? readWord(fields, parts, 'dueDate'),
    createdAt: readWord(fields, parts, 'createdAt') ?? '',
    file,
  }
}

function readTaskId(fields: Fields, parts: Parts, file: string): string {
  const written = readWord(fields, parts, 'id')
  const id = written === undefined ? idOfFileName(file) : readId(written)
  if (id !== undefined) return renderId(id)
  const found = written === undefined ? 'the id is missing' : `'${written}' is not a valid id`
  throw new BrokenFile(`${found}; write, for example, "id: TASK-001"`, lineOf(parts, 'id'))
}

function readTitle(fields: Fields, parts: Parts, file: string): string {
  const title = readWord(fields, parts, 'title')?.replaceAll(/\s+/g, ' ')
  return title || file.replace(/\.md$/, '').replace(/^\S+ - /, '')
}

function readStatus(fields: Fields, parts: Parts): Status {
  const written = readWord(fields, parts, 'status')
  if (written === undefined) return 'To Do'
  const status = findStatus(written)
  if (status !== undefined) return status
  const known = STATUSES.join(', ')
  throw new BrokenFile(
    `unknown status '${written}', expected one of: ${known}`,
    lineOf(parts, 'status'),
  )
}

function readPriority(fields: Fields, parts: Parts): Priority | undefined {
  const written = readWord(fields, parts, 'priority')
  const priority = written === undefined ? undefined : findPriority(written)
  if (written === undefined || priority !== undefined) return priority
  const known = PRIORITIES.join(', ')
  throw new BrokenFile(
    `unknown priority '${written}', expected one of: ${known}`,
    lineOf(parts, 'priority'),
  )
}

/** A single value as it is written, even if YAML reads it as a number or a date. */
function readWord(fields: Fields, parts: Parts, key: string): string | undefined {
  const value = fields[key]
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value === 'string') return value.trim()
  if (Array.isArray(value)) return readList(fields, parts, key).join(', ') || undefined
  return readRaw(parts, fields, key)
}

function readList(fields: Fields, parts: Parts, key: string): string[] {
  return readItems(parts, fields, key)
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

function optional<From, To>(value: From | undefined, change: (value: From) => To): To | undefined {
  return value === undefined ? undefined : change(value)
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
