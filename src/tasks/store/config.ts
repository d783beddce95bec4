import { join } from 'node:path'
import { UserError } from '../../base/errors.ts'
import { readTextFile } from '../../base/files.ts'
import { isObject, parseJson } from '../../base/json.ts'
import type { TaskFolders } from '../folders.ts'
import { findPriority, PRIORITIES, type Priority } from '../status.ts'

/** `forge/tasks/config.json`. */
export interface TasksConfig {
  readonly prefix: string
  readonly name: string | undefined
  readonly defaults: { readonly priority?: Priority; readonly labels?: readonly string[] }
}

const CONFIG_LIMIT_BYTES = 1024 * 1024

export function tasksConfigPath(folders: TaskFolders): string {
  return join(folders.tasks, 'config.json')
}

/** Returns the defaults if there is no file; reads older layouts too. */
export function readConfig(folders: TaskFolders): TasksConfig {
  const fields = readFields(folders)
  const invalid = findInvalid(fields)
  if (invalid.length > 0) throw broken(folders, `has ${invalid.join('; ')}`)
  const value = (key: string, older: string) => valueOf(fields, key) ?? valueOf(fields, older)
  const priority = findPriority(asText(value('defaults.priority', 'defaultPriority')) ?? '')
  const labels = value('defaults.labels', 'defaultLabels')
  return {
    prefix: (asText(fields['prefix']) ?? 'TASK').toUpperCase(),
    name: asText(value('name', 'projectName')),
    defaults: {
      ...(priority === undefined ? {} : { priority }),
      ...(isTextList(labels) ? { labels } : {}),
    },
  }
}

interface Rule {
  readonly expected: string
  readonly isValid: (value: unknown) => boolean
}

const PREFIX = /^[A-Za-z][A-Za-z0-9_]{0,19}$/

const NAME: Rule = { expected: 'a string', isValid: (value) => typeof value === 'string' }

const PRIORITY: Rule = {
  expected: `${PRIORITIES.slice(0, -1).join(', ')} or ${PRIORITIES.at(-1)}`,
  isValid: (value) =>
    typeof value === 'string' && (value === '' || findPriority(value) !== undefined),
}

const LABELS: Rule = { expected: 'a list of strings such as ["backend"]', isValid: isTextList }

/** Includes the keys of older layouts. */
const RULES: Readonly<Record<string, Rule>> = {
  prefix: {
    expected: 'letters, digits and _ such as "TASK"',
    isValid: (value) => typeof value === 'string' && PREFIX.test(value),
  },
  name: NAME,
  projectName: NAME,
  defaults: { expected: 'an object such as {"labels": ["backend"]}', isValid: isObject },
  'defaults.priority': PRIORITY,
  defaultPriority: PRIORITY,
  'defaults.labels': LABELS,
  defaultLabels: LABELS,
}

function findInvalid(fields: Fields): string[] {
  return Object.entries(RULES).flatMap(([key, { expected, isValid }]) => {
    const value = valueOf(fields, key)
    // null counts as absent.
    if (value === undefined || value === null || isValid(value)) return []
    return [`"${key}": ${JSON.stringify(value)}, expected ${expected}`]
  })
}

function valueOf(fields: Fields, key: string): unknown {
  const [outer = '', inner] = key.split('.')
  const value = fields[outer]
  if (inner === undefined) return value
  return isObject(value) ? value[inner] : undefined
}

type Fields = Readonly<Record<string, unknown>>

function readFields(folders: TaskFolders): Fields {
  const file = readTextFile(tasksConfigPath(folders), CONFIG_LIMIT_BYTES)
  if (file.kind === 'missing') return {}
  if (file.kind === 'unusable') throw broken(folders, file.problem)
  let value: unknown
  try {
    value = parseJson(file.text)
  } catch {
    throw broken(folders, 'is not valid JSON')
  }
  if (isObject(value)) return value
  throw broken(folders, 'is not a JSON object')
}

export function findUnknownKeys(folders: TaskFolders): string[] {
  const fields = readFields(folders)
  const { defaults } = fields
  const inside = isObject(defaults) ? Object.keys(defaults) : []
  const isUnknown = (key: string) => !Object.hasOwn(RULES, key)
  return [
    ...Object.keys(fields).filter((key) => key.includes('.') || isUnknown(key)),
    ...inside.map((key) => `defaults.${key}`).filter(isUnknown),
  ]
}

export class BrokenConfig extends UserError {
  readonly problem: string

  constructor(path: string, problem: string) {
    super(`${path} ${problem}.`, 'Fix or delete it.')
    this.problem = problem
  }
}

function broken(folders: TaskFolders, problem: string): BrokenConfig {
  return new BrokenConfig(tasksConfigPath(folders), problem)
}

export function checkPrefix(prefix: string): string {
  if (PREFIX.test(prefix)) return prefix.toUpperCase()
  throw new UserError(
    `'${prefix}' is not a valid id prefix.`,
    'Use letters, digits and _, for example TASK.',
  )
}

function isTextList(value: unknown): value is string[] {
  const isText = (item: unknown) => typeof item === 'string' && item.trim() !== ''
  return Array.isArray(value) && value.every(isText)
}

function asText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
