import { appendToSection, setSection } from './body.ts'
import { addCriterion, markCriterion, removeCriterion } from './criteria.ts'
import { readFields, setField, splitFile } from './frontmatter.ts'
import { parseTask } from './task.ts'
import type { Priority, Status } from './words.ts'

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

/** The text of a task file with the changes made. */
export function applyChanges(text: string, changes: Changes, now: Date): string {
  let next = applyFields(text, changes)
  for (const number of changes.checkCriteria ?? []) next = markCriterion(next, number, true)
  for (const number of changes.uncheckCriteria ?? []) next = markCriterion(next, number, false)
  for (const number of changes.removeCriteria ?? []) next = removeCriterion(next, number)
  for (const words of changes.addCriteria ?? []) next = addCriterion(next, words)
  if (changes.description !== undefined) next = setSection(next, 'Description', changes.description)
  if (changes.plan !== undefined) next = setSection(next, 'Implementation Plan', changes.plan)
  if (changes.notes !== undefined) next = setSection(next, 'Implementation Notes', changes.notes)
  for (const words of changes.appendNotes ?? []) {
    next = appendToSection(next, 'Implementation Notes', words)
  }
  return next === text ? text : touch(next, now)
}

function applyFields(text: string, changes: Changes): string {
  let next = text
  const set = (key: string, value: string | undefined) => {
    if (value !== undefined) next = setField(next, key, value === '' ? undefined : value)
  }
  set('title', changes.title)
  set('status', changes.status)
  set('priority', changes.priority === 'none' ? '' : changes.priority)
  set('assignee', changes.assignee)
  set('parent', changes.parent)
  set('due' in readFields(splitFile(next)) ? 'due' : dueKey(next), changes.due)
  next = changeList(next, 'labels', changes.addLabels, changes.removeLabels)
  return changeList(next, 'dependencies', changes.addDependencies, changes.removeDependencies)
}

/** Files of an older layout call it differently. */
function dueKey(text: string): string {
  return 'dueDate' in readFields(splitFile(text)) ? 'dueDate' : 'due'
}

function changeList(
  text: string,
  key: 'labels' | 'dependencies',
  add: readonly string[] = [],
  remove: readonly string[] = [],
): string {
  if (add.length === 0 && remove.length === 0) return text
  const before = parseTask(text, '.md')[key]
  const kept = before.filter((item) => !remove.includes(item))
  const list = [...new Set([...kept, ...add])]
  return Bun.deepEquals(list, before) ? text : setField(text, key, list)
}

/** Only where a file has the line already: it is the one on which two branches always conflict. */
function touch(text: string, now: Date): string {
  const has = 'updatedAt' in readFields(splitFile(text))
  return has ? setField(text, 'updatedAt', now.toISOString()) : text
}
