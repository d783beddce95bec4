import { goodLines } from '../../base/yaml.ts'
import { lineAt, lineEnd, markdownLines } from './lines.ts'
import { findEntries, type Entry } from './yaml-lines.ts'
import { findItems } from './yaml-list.ts'
import type { Span } from './yaml-signs.ts'

/** The parts of a task file, as places in its text. */
export interface Parts {
  readonly text: string
  readonly eol: '\n' | '\r\n'
  /** Where the YAML between the two `---` lines begins and ends. */
  readonly yaml: Span
  /** Where the body begins. */
  readonly body: number
}

/** What is wrong with a file that a person or a merge broke, and in which line. */
export class BrokenFile extends Error {
  readonly line: number

  constructor(message: string, line: number) {
    super(message)
    this.line = line
  }
}

export type Fields = Readonly<Record<string, unknown>>

/** The keys that forge-tasks reads: which of two it should believe nobody can know. */
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
const OWN_LINES = OWN_KEYS.map((key) => `\n${key}`)
const OPENING = /^\uFEFF?---[ \t]*(\r?\n)/
const CONFLICT = '<<<<<<<'
const CONFLICT_MIDDLE = /\n={7}\r?(?:\n|$)/

/** Finds the frontmatter; throws `BrokenFile` where there is none. */
export function splitFile(text: string): Parts {
  const opening = OPENING.exec(text)
  const closing = opening === null ? undefined : findClosing(text, opening[0].length)
  refuseConflict(text, closing?.end ?? 0)
  if (opening === null)
    throw new BrokenFile('there is no frontmatter: the first line must be ---', 1)
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

/** Only outside of code blocks: there a conflict is an example. */
function refuseConflict(text: string, body: number): void {
  if (!text.includes(CONFLICT)) return
  const place = findConflict(text, body)
  if (place === undefined || !CONFLICT_MIDDLE.test(text.slice(place))) return
  throw new BrokenFile('a merge conflict is not resolved', lineAt(text, place))
}

function findConflict(text: string, body: number): number | undefined {
  const inHead = text.startsWith(CONFLICT) ? 0 : text.indexOf(`\n${CONFLICT}`) + 1
  if (beginsConflict(text, inHead) && inHead < body) return inHead
  for (const { start, isCode } of markdownLines(text, body)) {
    if (!isCode && beginsConflict(text, start)) return start
  }
  return undefined
}

/** Git writes a name behind the signs, where it has one. */
function beginsConflict(text: string, at: number): boolean {
  const next = text[at + CONFLICT.length]
  return text.startsWith(CONFLICT, at) && (next === undefined || ' \r\n'.includes(next))
}

/** The values of the frontmatter; throws `BrokenFile` where it is no object. */
export function readFields(parts: Parts): Fields {
  const yaml = parts.text.slice(parts.yaml.start, parts.yaml.end)
  const value = parseYaml(yaml)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BrokenFile('the frontmatter is no list of `key: value` lines', 2)
  }
  refuseTwice(parts)
  refuseHidden(parts, yaml, value as Fields)
  return value as Fields
}

function parseYaml(yaml: string): unknown {
  try {
    return Bun.YAML.parse(yaml)
  } catch (error) {
    const [message] = String(error instanceof Error ? error.message : error).split('\n')
    throw new BrokenFile(`the frontmatter is not valid YAML (${message})`, 2 + goodLines(yaml))
  }
}

function refuseTwice({ text, yaml }: Parts): void {
  if (!mayBeTwice(text.slice(yaml.start - 1, yaml.end))) return
  const seen = new Set<string>()
  for (const { key, start } of findEntries(text, yaml)) {
    if (!OWN_KEYS.includes(key)) continue
    if (seen.has(key)) throw new BrokenFile(`'${key}' is there twice`, lineAt(text, start))
    seen.add(key)
  }
}

/** What is on no line of its own could be read, but never be changed. */
function refuseHidden(parts: Parts, yaml: string, fields: Fields): void {
  const isHidden = (key: string, index: number) =>
    Object.hasOwn(fields, key) &&
    !yaml.startsWith(`${key}:`) &&
    !yaml.includes(`${OWN_LINES[index]}:`) &&
    findEntry(parts, key) === undefined
  const hidden = yaml.trimStart().startsWith('{') ? 'id' : OWN_KEYS.find(isHidden)
  if (hidden === undefined) return
  throw new BrokenFile(`'${hidden}' has no line of its own, such as "${hidden}: …"`, 2)
}

/** A quick look that is right for nearly every file: this is done for all of them. */
function mayBeTwice(yaml: string): boolean {
  if (yaml.includes('\n"') || yaml.includes("\n'")) return true
  return OWN_LINES.some((line) => {
    const first = yaml.indexOf(line)
    return first !== -1 && yaml.includes(line, first + 1)
  })
}

export function findEntry({ text, yaml }: Parts, key: string): Entry | undefined {
  return findEntries(text, yaml).find((entry) => entry.key === key)
}

/** The text as it stands behind a key: what YAML would read as a number is a title all the same. */
export function readRaw(parts: Parts, fields: Fields, key: string): string {
  const value = findEntry(parts, key)?.value
  if (value === undefined) return JSON.stringify(fields[key])
  const isBelow = value.layout === 'block' || value.layout === 'scalar'
  return oneLine(parts.text.slice(value.start, isBelow ? value.behind : value.end))
}

/** The items of a list, each as text: what YAML takes for a number is read as it was written. */
export function readItems(parts: Parts, fields: Fields, key: string): string[] {
  const value = fields[key]
  if (value === undefined || value === null || value === '') return []
  if (typeof value === 'string') return value.split(',')
  if (!Array.isArray(value)) return typeof value === 'object' ? [] : [readRaw(parts, fields, key)]
  const list: readonly unknown[] = value
  if (list.every((item) => typeof item === 'string')) return [...list]
  const entry = findEntry(parts, key)
  const written = entry === undefined ? undefined : findItems(parts.text, entry)
  const isSame = written?.length === list.length
  return list.map((item, index) => {
    if (typeof item === 'string') return item
    if (!isSame) return JSON.stringify(item)
    return oneLine(parts.text.slice(written[index]!.start, written[index]!.end))
  })
}

function oneLine(text: string): string {
  return text.trim().split(/\s+/).join(' ')
}

/** The line of a key, or the first one where it is not there. */
export function lineOf(parts: Parts, key: string): number {
  const entry = findEntry(parts, key)
  return entry === undefined ? 1 : lineAt(parts.text, entry.start)
}
