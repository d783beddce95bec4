import { UserError } from '../../base/errors.ts'
import { didYouMean } from '../../base/nearest.ts'
import { own } from '../../base/objects.ts'
import { readPriority, readStatus, type Priority, type Status } from '../status.ts'
import type { Changes } from './changes.ts'
import type { NewTask } from './new-task.ts'

type IsKind = (value: unknown) => boolean

const TEXT: IsKind = (value) => typeof value === 'string'
const TEXTS: IsKind = (value) => Array.isArray(value) && value.every(TEXT)
const NUMBERS: IsKind = (value) =>
  Array.isArray(value) && value.every((each) => typeof each === 'number')
const EXPECTED = new Map([
  [TEXT, 'a string'],
  [TEXTS, 'a list of strings'],
  [NUMBERS, 'a list of numbers'],
])

type Kinds<Fields> = Readonly<Record<keyof Fields, IsKind>>

const COMMON = {
  title: TEXT,
  status: TEXT,
  priority: TEXT,
  assignee: TEXT,
  parent: TEXT,
  due: TEXT,
  description: TEXT,
  plan: TEXT,
}

const NEW_TASK: Kinds<NewTask> = {
  ...COMMON,
  key: TEXT,
  labels: TEXTS,
  dependencies: TEXTS,
  criteria: TEXTS,
}

const CHANGES: Kinds<Changes> = {
  ...COMMON,
  notes: TEXT,
  addLabels: TEXTS,
  removeLabels: TEXTS,
  addDependencies: TEXTS,
  removeDependencies: TEXTS,
  appendNotes: TEXTS,
  addCriteria: TEXTS,
  removeCriteria: NUMBERS,
  checkCriteria: NUMBERS,
  uncheckCriteria: NUMBERS,
}

/** For programs that are not type-checked: a wrong field would make a file that cannot be read. */
export function checkNewTask(task: NewTask): NewTask {
  return { ...withNames(checkFields(task, NEW_TASK)), title: task.title ?? '' }
}

export function checkChanges(changes: Changes): Changes {
  return withNames(checkFields(changes, CHANGES))
}

/** Accepts status and priority as people type them. */
function withNames<
  Fields extends { status?: Status | undefined; priority?: Priority | 'none' | undefined },
>(fields: Fields): Fields {
  const { status, priority } = fields
  return { ...fields, status: readStatus(status), priority: readPriority(priority) }
}

function checkFields<Fields extends object>(fields: Fields, kinds: Kinds<Fields>): Fields {
  const known: Readonly<Record<string, IsKind>> = { ...kinds }
  for (const [key, value] of Object.entries(fields)) {
    const isKind = own(known, key)
    const names = Object.keys(known)
    if (isKind === undefined)
      throw new UserError(
        `Unknown field '${key}'${didYouMean(key, names) || '.'}`,
        `Known fields: ${names.join(', ')}.`,
      )
    if (value === undefined || isKind(value)) continue
    throw new UserError(`'${key}' must be ${EXPECTED.get(isKind)}.`)
  }
  return fields
}
