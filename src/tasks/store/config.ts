import { join } from 'node:path'
import { UserError } from '../../base/errors.ts'
import { readTextFile } from '../../base/files.ts'
import type { Places } from './places.ts'
import { findPriority, PRIORITIES, type Priority } from '../words.ts'

/** `forge/tasks/config.json`: what new tasks are called and begin with. */
export interface TasksConfig {
  readonly prefix: string
  readonly name: string | undefined
  readonly defaults: { readonly priority?: Priority; readonly labels?: readonly string[] }
}

const DEFAULT: TasksConfig = { prefix: 'TASK', name: undefined, defaults: {} }

const CONFIG_LIMIT_BYTES = 1024 * 1024

export function configPath(places: Places): string {
  return join(places.tasks, 'config.json')
}

/** The defaults where there is no file; older layouts are understood. */
export function readConfig(places: Places): TasksConfig {
  const file = readTextFile(configPath(places), CONFIG_LIMIT_BYTES)
  if (file.kind === 'missing') return DEFAULT
  if (file.kind === 'unusable') throw broken(places, file.problem)
  const fields = parseFields(places, file.text)
  const defaults = isObject(fields['defaults']) ? fields['defaults'] : {}
  const priority = asText(defaults['priority'] ?? fields['defaultPriority'])
  const found = priority === undefined ? undefined : readPriority(places, priority)
  const labels = defaults['labels'] ?? fields['defaultLabels']
  return {
    prefix: readPrefix(places, asText(fields['prefix']) ?? DEFAULT.prefix),
    name: asText(fields['name'] ?? fields['projectName']),
    defaults: {
      ...(found === undefined ? {} : { priority: found }),
      ...(Array.isArray(labels) ? { labels: labels.map(String) } : {}),
    },
  }
}

function parseFields(places: Places, text: string): Readonly<Record<string, unknown>> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw broken(places, 'is not valid JSON')
  }
  return isObject(value) ? value : {}
}

/** The last ones are of older layouts. */
const KEYS = ['prefix', 'name', 'defaults', 'projectName', 'defaultPriority', 'defaultLabels']
const DEFAULTS_KEYS = ['priority', 'labels']

/** What is written in the configuration and means nothing. */
export function findUnknownKeys(places: Places): string[] {
  const file = readTextFile(configPath(places), CONFIG_LIMIT_BYTES)
  if (file.kind !== 'text') return []
  const { defaults, ...fields } = parseFields(places, file.text)
  const inside = isObject(defaults) ? Object.keys(defaults) : []
  return [
    ...Object.keys(fields).filter((key) => !KEYS.includes(key)),
    ...inside.filter((key) => !DEFAULTS_KEYS.includes(key)).map((key) => `defaults.${key}`),
  ]
}

/** A configuration that cannot be used. */
export class BrokenConfig extends UserError {
  readonly problem: string

  constructor(path: string, problem: string) {
    super(`${path} ${problem}.`, 'Mend it, or delete it.')
    this.problem = problem
  }
}

function broken(places: Places, problem: string): BrokenConfig {
  return new BrokenConfig(configPath(places), problem)
}

const PREFIX = /^[A-Za-z][A-Za-z0-9_]{0,19}$/

function readPrefix(places: Places, prefix: string): string {
  if (PREFIX.test(prefix)) return prefix.toUpperCase()
  throw broken(places, `has a prefix '${prefix}' that no id can begin with`)
}

function readPriority(places: Places, word: string): Priority {
  const found = findPriority(word)
  if (found !== undefined) return found
  throw broken(
    places,
    `has a default priority '${word}', which is none of ${PRIORITIES.join(', ')}`,
  )
}

export function checkPrefix(prefix: string): string {
  if (PREFIX.test(prefix)) return prefix.toUpperCase()
  throw new UserError(
    `'${prefix}' cannot be a prefix of ids.`,
    'Write letters, digits and _, e.g. TASK.',
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function asText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
