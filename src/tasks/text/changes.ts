import { appendToSection, setSection } from './body.ts'
import { addCriterion, changeCriteria } from './criteria.ts'
import { readItems } from './fields.ts'
import { readFields, setField, splitFile } from './frontmatter.ts'
import { normalId } from '../id.ts'
import { parseTask, type Task } from '../task.ts'
import type { Priority, Status } from '../words.ts'

/** What an edit asks for; what is absent stays as it is, to the byte. */
export interface Changes {
  readonly title?: string | undefined
  readonly status?: Status | undefined
  /** `none` takes it away; so does an empty text for the other single values. */
  readonly priority?: Priority | 'none' | undefined
  readonly assignee?: string | undefined
  readonly parent?: string | undefined
  readonly due?: string | undefined
  readonly addLabels?: readonly string[]
  readonly removeLabels?: readonly string[]
  readonly addDependencies?: readonly string[]
  readonly removeDependencies?: readonly string[]
  readonly description?: string | undefined
  readonly plan?: string | undefined
  readonly notes?: string | undefined
  readonly appendNotes?: readonly string[]
  readonly addCriteria?: readonly string[]
  readonly removeCriteria?: readonly number[]
  readonly checkCriteria?: readonly number[]
  readonly uncheckCriteria?: readonly number[]
}

/** Whether nothing at all is asked for. */
export function isNothing(changes: Changes): boolean {
  const asked = Object.values<string | readonly unknown[] | undefined>({ ...changes })
  return asked.every((value) => value === undefined || (Array.isArray(value) && !value.length))
}

/** The text of a task file with the changes made. */
export function applyChanges(text: string, changes: Changes, now: Date): string {
  const next = applySections(applyCriteria(applyFields(text, changes), changes), changes)
  return next === text ? text : touch(next, now)
}

function applyCriteria(text: string, changes: Changes): string {
  const next = changeCriteria(text, {
    check: changes.checkCriteria ?? [],
    uncheck: changes.uncheckCriteria ?? [],
    remove: changes.removeCriteria ?? [],
  })
  return (changes.addCriteria ?? []).reduce(addCriterion, next)
}

function applySections(text: string, changes: Changes): string {
  const { description, plan, notes, appendNotes = [] } = changes
  let next = text
  if (description !== undefined) next = setSection(next, 'Description', description)
  if (plan !== undefined) next = setSection(next, 'Implementation Plan', plan)
  if (notes !== undefined) next = setSection(next, 'Implementation Notes', notes)
  for (const words of appendNotes) next = appendToSection(next, 'Implementation Notes', words)
  return next
}

/** The name of the file does not matter where no id is asked for. */
const ANY_FILE = 'TASK-1.md'

const SINGLE = ['title', 'status', 'priority', 'assignee', 'parent', 'due'] as const

function applyFields(text: string, changes: Changes): string {
  let next = text
  const asked = SINGLE.filter((key) => changes[key] !== undefined)
  if (asked.length > 0) {
    const before = parseTask(text, ANY_FILE)
    const fields = readFields(splitFile(text))
    for (const key of asked) {
      // Files of an older layout call it differently.
      const name = key === 'due' && !('due' in fields) && 'dueDate' in fields ? 'dueDate' : key
      const value = changes[key] === '' || changes[key] === 'none' ? undefined : changes[key]
      if (!isSo(before, name in fields, key, value)) next = setField(next, name, value)
    }
  }
  next = changeList(next, 'labels', changes.addLabels, changes.removeLabels)
  return changeList(next, 'dependencies', changes.addDependencies, changes.removeDependencies)
}

/** What is so already stays the way in which it is written. */
function isSo(
  before: Task,
  isWritten: boolean,
  key: (typeof SINGLE)[number],
  value: string | undefined,
): boolean {
  return (isWritten || value === undefined) && before[key] === value
}

function changeList(
  text: string,
  key: 'labels' | 'dependencies',
  add: readonly string[] = [],
  remove: readonly string[] = [],
): string {
  if (add.length === 0 && remove.length === 0) return text
  const parts = splitFile(text)
  const before = readItems(parts, readFields(parts), key)
  const nameOf = (item: string) => (key === 'labels' ? item.trim() : normalId(item))
  // What is asked for both ways stays.
  const gone = new Set(remove.map(nameOf)).difference(new Set(add.map(nameOf)))
  const kept = before.filter((item) => !gone.has(nameOf(item)))
  const names = new Set(kept.map(nameOf))
  const added = [...new Set(add.map(nameOf))].filter((item) => item !== '' && !names.has(item))
  if (kept.length === before.length && added.length === 0) return text
  return setField(text, key, [...kept, ...added])
}

/** Only where a file has the line already: it is the one on which two branches always conflict. */
function touch(text: string, now: Date): string {
  const has = 'updatedAt' in readFields(splitFile(text))
  return has ? setField(text, 'updatedAt', now.toISOString()) : text
}
