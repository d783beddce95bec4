import { isObject } from '../../base/json.ts'
import { goodLines } from '../../base/yaml.ts'
import { oneLine } from '../../base/shorten.ts'
import { lineAt, lineEnd, markdownLines } from './lines.ts'
import { findEntries, type Entry } from './yaml-lines.ts'
import { findListItems } from './yaml-list.ts'
import type { Span } from './yaml-tokens.ts'

/** The parts of a task file, as positions in its text. */
export interface FileParts {
  readonly text: string
  readonly eol: '\n' | '\r\n'
  /** The YAML between the two `---` lines. */
  readonly yaml: Span
  readonly body: number
}

/** A task file that cannot be read, with the line of the problem. */
export class BrokenFile extends Error {
  readonly line: number

  constructor(message: string, line: number) {
    super(message)
    this.line = line
  }
}

export type Fields = Readonly<Record<string, unknown>>

/** The keys that forge-tasks reads; duplicates of them are refused. */
const OWN_KEYS = [
  'id',
  'title',
  'status',
  'priority',
  'assignee',
  'labels',
  'dependencies',
  'parent',
  'due',
  'dueDate',
  'createdAt',
  'updatedAt',
]
const OPENING = /^\uFEFF?---[ \t]*(\r?\n)/
const CONFLICT = '<<<<<<<'
const CONFLICT_MIDDLE = /\n={7}\r?(?:\n|$)/

/** Throws `BrokenFile` if there is no frontmatter. */
export function splitFile(text: string): FileParts {
  const opening = OPENING.exec(text)
  const closing = opening === null ? undefined : findClosing(text, opening[0].length)
  refuseConflict(text, closing?.end ?? 0)
  if (opening === null) throw new BrokenFile('no frontmatter: the first line must be ---', 1)
  if (closing === undefined) throw new BrokenFile('the frontmatter is never closed with ---', 1)
  return {
    text,
    eol: opening[1] === '\r\n' ? '\r\n' : '\n',
    yaml: { start: opening[0].length, end: closing.start },
    body: closing.end,
  }
}

function findClosing(text: string, from: number): Span | undefined {
  for (let start = from; start !== -1;) {
    if (text.startsWith('---', start)) {
      const end = lineEnd(text, start)
      if (text.slice(start + 3, end).trim() === '') return { start, end }
    }
    const newline = text.indexOf('\n---', start)
    start = newline === -1 ? -1 : newline + 1
  }
  return undefined
}

/** Ignores code blocks, where a conflict is an example. */
function refuseConflict(text: string, body: number): void {
  if (!text.includes(CONFLICT)) return
  const place = findConflict(text, body)
  if (place === undefined || !CONFLICT_MIDDLE.test(text.slice(place))) return
  throw new BrokenFile('unresolved merge conflict', lineAt(text, place))
}

function findConflict(text: string, body: number): number | undefined {
  const inHead = text.startsWith(CONFLICT) ? 0 : text.indexOf(`\n${CONFLICT}`) + 1
  if (beginsConflict(text, inHead) && inHead < body) return inHead
  for (const { start, isCode } of markdownLines(text, body)) {
    if (!isCode && beginsConflict(text, start)) return start
  }
  return undefined
}

/** A name may follow the marker. */
function beginsConflict(text: string, at: number): boolean {
  const next = text[at + CONFLICT.length]
  return text.startsWith(CONFLICT, at) && (next === undefined || ' \r\n'.includes(next))
}

/** Throws `BrokenFile` if the frontmatter is not a mapping. */
export function readFields(parts: FileParts): Fields {
  const yaml = parts.text.slice(parts.yaml.start, parts.yaml.end)
  const value = parseYaml(yaml)
  if (!isObject(value)) {
    throw new BrokenFile('the frontmatter must consist of `key: value` lines', 2)
  }
  refuseTwice(parts)
  refuseHidden(parts, yaml, value)
  return value
}

function parseYaml(yaml: string): unknown {
  try {
    return Bun.YAML.parse(yaml)
  } catch (error) {
    const [message] = String(error instanceof Error ? error.message : error).split('\n')
    throw new BrokenFile(`the frontmatter is not valid YAML (${message})`, 2 + goodLines(yaml))
  }
}

function refuseTwice({ text, yaml }: FileParts): void {
  const seen = new Set<string>()
  for (const { key, start } of findEntries(text, yaml)) {
    if (!OWN_KEYS.includes(key)) continue
    if (seen.has(key)) throw new BrokenFile(`duplicate key '${key}'`, lineAt(text, start))
    seen.add(key)
  }
}

/** A key without a line of its own could be read but not changed. */
function refuseHidden(parts: FileParts, yaml: string, fields: Fields): void {
  const isHidden = (key: string) =>
    Object.hasOwn(fields, key) &&
    !`\n${yaml}`.includes(`\n${key}:`) &&
    findEntry(parts, key) === undefined
  const hidden = yaml.trimStart().startsWith('{') ? 'id' : OWN_KEYS.find(isHidden)
  if (hidden === undefined) return
  throw new BrokenFile(`'${hidden}' must be on a line of its own, such as "${hidden}: …"`, 2)
}

export function findEntry({ text, yaml }: FileParts, key: string): Entry | undefined {
  return findEntries(text, yaml).find((entry) => entry.key === key)
}

/** The value as it is written, even if YAML reads it as a number. */
export function readRaw(parts: FileParts, fields: Fields, key: string): string {
  const value = findEntry(parts, key)?.value
  if (value === undefined) return JSON.stringify(fields[key])
  const isBelow = value.layout === 'block' || value.layout === 'scalar'
  return oneLine(parts.text.slice(value.start, isBelow ? value.next : value.end))
}

/** The items of a list as they are written, even if YAML reads them as numbers. */
export function readItems(parts: FileParts, fields: Fields, key: string): string[] {
  const value = fields[key]
  if (value === undefined || value === null || value === '') return []
  if (typeof value === 'string') return value.split(',')
  if (!Array.isArray(value)) return typeof value === 'object' ? [] : [readRaw(parts, fields, key)]
  const list: readonly unknown[] = value
  if (list.every((item) => typeof item === 'string')) return [...list]
  const entry = findEntry(parts, key)
  const written = entry === undefined ? undefined : findListItems(parts.text, entry)
  const isSame = written?.length === list.length
  return list.map((item, index) => {
    if (typeof item === 'string') return item
    if (!isSame) return JSON.stringify(item)
    return oneLine(parts.text.slice(written[index]!.start, written[index]!.end))
  })
}

/** The line of a key; 1 if the key is missing. */
export function lineOf(parts: FileParts, key: string): number {
  const entry = findEntry(parts, key)
  return entry === undefined ? 1 : lineAt(parts.text, entry.start)
}
