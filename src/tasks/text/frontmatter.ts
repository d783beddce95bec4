import { Refused } from '../refused.ts'
import {
  BrokenFile,
  findEntry,
  readFields,
  readItems,
  splitFile,
  type Fields,
  type FileParts,
} from './fields.ts'
import type { Entry } from './yaml-lines.ts'
import {
  appendItem,
  findListItems,
  hasComments,
  removeItems,
  replaceValue,
  type YamlItem,
} from './yaml-list.ts'
import { renderItem, renderScalar, renderValue, wellFormed } from './render-yaml.ts'

/** A valid file that cannot be edited safely. */
export class CannotChange extends Refused {}

type Wanted = string | readonly string[] | undefined

/** Sets a field, or removes it if the value is undefined. Nothing else changes. */
export function setField(text: string, key: string, value: Wanted): string {
  const parts = splitFile(text)
  const fields = readFields(parts)
  const wanted = value === undefined ? undefined : wellFormed(value)
  if (hasValue(parts, fields, key, wanted)) return text
  for (const changed of candidates(parts, fields, key, wanted)) {
    if (isOnlyChange(parts, fields, changed, key, wanted)) return changed
  }
  throw new CannotChange(
    `Cannot change '${key}' without changing other parts of the frontmatter.`,
    'Edit the file yourself.',
  )
}

function hasValue(parts: FileParts, fields: Fields, key: string, wanted: Wanted): boolean {
  if (wanted === undefined || !Object.hasOwn(fields, key)) {
    return wanted === undefined && !Object.hasOwn(fields, key)
  }
  if (typeof wanted === 'string') return fields[key] === wanted
  return Array.isArray(fields[key]) && Bun.deepEquals(readItems(parts, fields, key), wanted)
}

/** Possible results; those that keep more of the formatting come first. */
function* candidates(
  parts: FileParts,
  fields: Fields,
  key: string,
  wanted: Wanted,
): Generator<string> {
  const { text, yaml, eol } = parts
  const entry = findEntry(parts, key)
  if (entry === undefined) {
    // A key that exists but was not found must not be written twice.
    if (wanted === undefined || Object.hasOwn(fields, key)) return
    yield `${text.slice(0, yaml.end)}${key}: ${renderValue(wanted)}${eol}${text.slice(yaml.end)}`
  } else if (wanted === undefined) {
    yield text.slice(0, entry.start) + text.slice(entry.value.next)
  } else if (typeof wanted === 'string') {
    yield replaceValue(text, entry, renderScalar(wanted))
  } else {
    yield* listCandidates(parts, fields, entry, wanted)
  }
}

function* listCandidates(
  parts: FileParts,
  fields: Fields,
  entry: Entry,
  wanted: readonly string[],
): Generator<string> {
  const { text } = parts
  const old = readItems(parts, fields, entry.key)
  if (findListItems(text, entry)?.length === old.length && Array.isArray(fields[entry.key])) {
    const [before, after] = [new Set(old), new Set(wanted)]
    const gone = old.flatMap((item, index) => (after.has(item) ? [] : [index]))
    const added = wanted.filter((item) => !before.has(item))
    yield changeItems(parts, entry.key, added, gone)
  }
  const isObject = typeof fields[entry.key] === 'object' && findListItems(text, entry) === undefined
  if (isObject && fields[entry.key] !== null) return
  if (!hasComments(text, entry)) yield replaceValue(text, entry, renderValue(wanted))
}

/** Each step finds the items again, because the previous one has moved them. */
function changeItems(
  parts: FileParts,
  key: string,
  added: readonly string[],
  gone: readonly number[],
): string {
  let text = parts.text
  const step = (change: (entry: Entry, items: readonly YamlItem[]) => string) => {
    const end = parts.yaml.end + text.length - parts.text.length
    const entry = findEntry({ ...parts, text, yaml: { ...parts.yaml, end } }, key)
    const items = entry === undefined ? undefined : findListItems(text, entry)
    if (entry !== undefined && items !== undefined) text = change(entry, items)
  }
  for (const word of added) {
    step((entry, items) => appendItem(text, entry, items, render(entry, word), parts.eol))
  }
  if (gone.length > 0) step((entry, items) => removeItems(text, entry, items, gone))
  return text
}

function render(entry: Entry, word: string): string {
  return entry.value.layout === 'block' ? renderScalar(word) : renderItem(word)
}

/** Protects formatting that this edit does not understand. */
function isOnlyChange(
  before: FileParts,
  old: Fields,
  changed: string,
  key: string,
  wanted: Wanted,
): boolean {
  try {
    const parts = splitFile(changed)
    const now = readFields(parts)
    if (changed.slice(parts.body) !== before.text.slice(before.body)) return false
    if (!hasValue(parts, now, key, wanted)) return false
    const names = new Set([...Object.keys(old), ...Object.keys(now)])
    names.delete(key)
    return [...names].every((name) => Bun.deepEquals(old[name], now[name]))
  } catch (error) {
    if (error instanceof BrokenFile) return false
    throw error
  }
}
