import { UserError } from '../base/errors.ts'

/** The parts of a task file, as places in its text. */
export interface Parts {
  readonly text: string
  readonly eol: '\n' | '\r\n'
  /** Where the YAML between the two `---` lines begins and ends. */
  readonly yaml: { readonly start: number; readonly end: number }
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

const OPENING = /^\uFEFF?---[ \t]*(\r?\n)/
const CLOSING = /^---[ \t]*(?:\r?\n|$)/gm
const CONFLICT = /^<{7} .*$[\s\S]*?^={7}\r?$[\s\S]*?^>{7} /m

/** Finds the frontmatter; throws `BrokenFile` where there is none. */
export function splitFile(text: string): Parts {
  const conflict = CONFLICT.exec(text)
  if (conflict !== null) {
    throw new BrokenFile('a merge conflict is not resolved', lineAt(text, conflict.index))
  }
  const opening = OPENING.exec(text)
  if (opening === null)
    throw new BrokenFile('there is no frontmatter: the first line must be ---', 1)
  CLOSING.lastIndex = opening[0].length
  const closing = CLOSING.exec(text)
  if (closing === null) throw new BrokenFile('the frontmatter is never closed with ---', 1)
  return {
    text,
    eol: opening[1] === '\r\n' ? '\r\n' : '\n',
    yaml: { start: opening[0].length, end: closing.index },
    body: closing.index + closing[0].length,
  }
}

/** The values of the frontmatter; throws `BrokenFile` where it is no object. */
export function readFields(parts: Parts): Fields {
  const yaml = parts.text.slice(parts.yaml.start, parts.yaml.end)
  let value: unknown
  try {
    value = Bun.YAML.parse(yaml)
  } catch (error) {
    const [message] = String(error instanceof Error ? error.message : error).split('\n')
    throw new BrokenFile(`the frontmatter is not valid YAML (${message})`, 2)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BrokenFile('the frontmatter is no list of `key: value` lines', 2)
  }
  return value as Fields
}

/** The text as it stands behind a key: what YAML would read as a number is a title all the same. */
export function rawValue({ text, yaml }: Parts, key: string): string | undefined {
  const place = findKey(text, yaml, key)
  if (place === undefined) return undefined
  return text
    .slice(place.start, place.end)
    .slice(key.length + 1)
    .trim()
}

/** The text with one field set, or removed where the value is undefined. Nothing else changes. */
export function setField(
  text: string,
  key: string,
  value: string | readonly string[] | undefined,
): string {
  const parts = splitFile(text)
  const place = findKey(text, parts.yaml, key)
  if (place === undefined && value === undefined) return text
  const at = place ?? { start: parts.yaml.end, end: parts.yaml.end }
  const line = value === undefined ? '' : `${key}: ${renderValue(value)}${parts.eol}`
  const changed = text.slice(0, at.start) + line + text.slice(at.end)
  checkNothingElse(parts, changed, key)
  return changed
}

/** A layout that this edit does not understand must not be damaged by it. */
function checkNothingElse(before: Parts, changed: string, key: string): void {
  const [old, now] = [readFields(before), readFields(splitFile(changed))]
  for (const name of new Set([...Object.keys(old), ...Object.keys(now)])) {
    if (name === key || Bun.deepEquals(old[name], now[name])) continue
    throw new UserError(
      `The frontmatter is written in a way in which '${key}' cannot be changed alone.`,
      'Change it in the file itself.',
    )
  }
}

/** The lines of a top-level key: its own and those that continue it. */
function findKey(
  text: string,
  yaml: Parts['yaml'],
  key: string,
): { readonly start: number; readonly end: number } | undefined {
  let start: number | undefined
  let end = yaml.start
  for (let at = yaml.start; at < yaml.end;) {
    const next = lineEnd(text, at, yaml.end)
    const line = text.slice(at, next)
    if (start === undefined) {
      if (line.startsWith(`${key}:`)) [start, end] = [at, next]
    } else if (/^(?:[ \t]+\S|-(?:[ \t]|\r?$)|[\]}])/.test(line)) {
      end = next
    } else if (!/^[ \t]*\r?\n?$/.test(line)) {
      break
    }
    at = next
  }
  return start === undefined ? undefined : { start, end }
}

function lineEnd(text: string, from: number, limit: number): number {
  const newline = text.indexOf('\n', from)
  return newline === -1 || newline >= limit ? limit : newline + 1
}

function renderValue(value: string | readonly string[]): string {
  return typeof value === 'string' ? renderScalar(value) : `[${value.map(renderItem).join(', ')}]`
}

/** Plain where YAML reads the same back, in double quotes otherwise. */
function renderScalar(text: string): string {
  return /^[^\s"'&*!|>%@`[\]{},#?:-][^\n\r#]*$/.test(text) && isPlain(text)
    ? text
    : JSON.stringify(text)
}

function renderItem(text: string): string {
  return /^[\w./ -]+$/.test(text) && isPlain(text) ? text : JSON.stringify(text)
}

function isPlain(text: string): boolean {
  if (text !== text.trim() || text.includes(': ') || text.endsWith(':')) return false
  try {
    return Bun.YAML.parse(`x: ${text}\n`) !== null && readsBack(text)
  } catch {
    return false
  }
}

function readsBack(text: string): boolean {
  const value: unknown = Bun.YAML.parse(`x: ${text}\n`)
  return typeof value === 'object' && value !== null && 'x' in value && value.x === text
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}
