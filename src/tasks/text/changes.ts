import { appendToSection, setSection } from './body.ts'
import { addCriterion, changeCriteria } from './criteria.ts'
import { readItems } from './fields.ts'
import { readFields, splitFile } from './fields.ts'
import { setField } from './frontmatter.ts'
import { normalId } from '../id.ts'
import { parseTask } from '../task.ts'
import type { Priority, Status } from '../status.ts'

/** The changes of an edit; absent fields stay byte for byte. */
export interface Changes {
  readonly title?: string | undefined
  readonly status?: Status | undefined
  /** `none` removes it; an empty string removes any other single value. */
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

export function isNothing(changes: Changes): boolean {
  const asked = Object.values<string | readonly unknown[] | undefined>({ ...changes })
  return asked.every((value) => value === undefined || (Array.isArray(value) && !value.length))
}

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
  return appendToSection(next, 'Implementation Notes', appendNotes)
}

/** The file name matters only for the id, which is not used here. */
const ANY_FILE = 'TASK-1.md'

const SINGLE = ['title', 'status', 'priority', 'assignee', 'parent', 'due'] as const

function applyFields(text: string, changes: Changes): string {
  let next = text
  const asked = SINGLE.filter((key) => changes[key] !== undefined)
  if (asked.length > 0) {
    const before = parseTask(text, ANY_FILE)
    const fields = readFields(splitFile(text))
    for (const key of asked) {
      // Older files use another name.
      const name = key === 'due' && !('due' in fields) && 'dueDate' in fields ? 'dueDate' : key
      const value = changes[key] === '' || changes[key] === 'none' ? undefined : changes[key]
      // A value that is already set keeps its spelling.
      const isSet = (name in fields || value === undefined) && before[key] === value
      if (!isSet) next = setField(next, name, value)
    }
  }
  next = changeList(next, 'labels', changes.addLabels, changes.removeLabels)
  return changeList(next, 'dependencies', changes.addDependencies, changes.removeDependencies)
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
  // An item that is both added and removed stays.
  const gone = new Set(remove.map(nameOf)).difference(new Set(add.map(nameOf)))
  const kept = before.filter((item) => !gone.has(nameOf(item)))
  const names = new Set(kept.map(nameOf))
  const added = [...new Set(add.map(nameOf))].filter((item) => item !== '' && !names.has(item))
  if (kept.length === before.length && added.length === 0) return text
  return setField(text, key, [...kept, ...added])
}

/** Updates `updatedAt` only if the file has it: on that line two branches would always conflict. */
function touch(text: string, now: Date): string {
  const has = 'updatedAt' in readFields(splitFile(text))
  return has ? setField(text, 'updatedAt', now.toISOString()) : text
}
