import { lineEnd } from './lines.ts'
import {
  commentAt,
  isBlankAt,
  isComment,
  isDash,
  lineStart,
  quoteEnd,
  readFlow,
  skipBlanks,
  trimBack,
  type Span,
} from './yaml-tokens.ts'

type Layout = 'empty' | 'plain' | 'quoted' | 'flow' | 'scalar' | 'block'

interface Value extends Span {
  readonly layout: Layout
  /** After the last line of the value. */
  readonly next: number
}

/** A top-level `key: value`, with the positions of its parts. */
export interface Entry {
  readonly key: string
  readonly start: number
  /** After the colon. */
  readonly colon: number
  readonly value: Value
}

/** The top-level entries, except for other notations (`? key`, `{…}`). */
export function findEntries(whole: string, { start, end }: Span): Entry[] {
  const text = whole.slice(0, end)
  const entries: Entry[] = []
  for (let at = start; at < end;) {
    const key = readKey(text, at, lineEnd(text, at, end))
    if (key === undefined) {
      at = lineEnd(text, at, end)
      continue
    }
    const value = readValue(text, key.colon, end, KEY)
    entries.push({ key: key.name, start: at, colon: key.colon, value })
    at = value.next
  }
  return entries
}

/** The key or dash of a value; lines that are indented deeper continue the value. */
interface Container {
  readonly indent: number
  /** List items below a key need no deeper indentation. */
  readonly isKey: boolean
}

const KEY: Container = { indent: 0, isKey: true }
const NOT_A_KEY = new Set(' \t\r\n#-?[]{},&*!|>%@`')
const QUOTED_KEY = /(?:"([^"\\\n]*)"|'([^'\n]*)')[ \t]*:(?=\s|$)/y

function readKey(
  text: string,
  at: number,
  end: number,
): { name: string; colon: number } | undefined {
  const first = text[at]!
  if (NOT_A_KEY.has(first)) return undefined
  if (first === '"' || first === "'") {
    QUOTED_KEY.lastIndex = at
    const match = QUOTED_KEY.exec(text)
    if (match === null) return undefined
    return { name: match[1] ?? match[2]!, colon: QUOTED_KEY.lastIndex }
  }
  let colon = text.indexOf(':', at)
  while (colon !== -1 && colon < end && !isBlankAt(text, colon + 1)) {
    colon = text.indexOf(':', colon + 1)
  }
  if (colon === -1 || colon >= end) return undefined
  return { name: text.slice(at, colon).trimEnd(), colon: colon + 1 }
}

/** Reads the value after a colon or a dash. */
export function readValue(text: string, from: number, limit: number, container: Container): Value {
  const end = lineEnd(text, from, limit)
  const start = skipBlanks(text, from, end)
  const first = start < end ? text[start]! : '\n'
  if (first === '\n' || first === '\r' || (first === '#' && start > from)) {
    return readBelow(text, from, end, limit, container)
  }
  if (first === '|' || first === '>') {
    const header = trimBack(text, start, commentAt(text, start, end))
    const next = endOfValue(text, end, limit, container, () => false)
    return { layout: 'scalar', start, end: header, next }
  }
  if (first === '"' || first === "'")
    return closed(text, start, quoteEnd(text, start, limit), limit)
  if (first === '[' || first === '{') {
    return closed(text, start, readFlow(text, start, limit).end, limit)
  }
  return readPlain(text, start, end, limit, container)
}

function closed(text: string, start: number, end: number, limit: number): Value {
  const layout = text[start] === '[' || text[start] === '{' ? 'flow' : 'quoted'
  return { layout, start, end, next: lineEnd(text, end, limit) }
}

function readPlain(
  text: string,
  start: number,
  end: number,
  limit: number,
  container: Container,
): Value {
  const comment = commentAt(text, start, end)
  const isOver = text[comment] === '#'
  const next = isOver ? end : endOfValue(text, end, limit, container, isComment)
  const tail = next === end ? comment : commentAt(text, lineStart(text, next - 1), next)
  return { layout: 'plain', start, end: trimBack(text, start, tail), next }
}

function readBelow(
  text: string,
  from: number,
  end: number,
  limit: number,
  container: Container,
): Value {
  const next = endOfValue(text, end, limit, container, isComment)
  const layout = next === end ? 'empty' : 'block'
  return { layout, start: from, end: from, next }
}

/** After the last line that continues a value, across blank lines and comments. */
function endOfValue(
  text: string,
  from: number,
  limit: number,
  { indent, isKey }: Container,
  isNothing: (text: string, at: number) => boolean,
): number {
  let last = from
  let mayBeItem = isKey
  for (let at = from; at < limit;) {
    const end = lineEnd(text, at, limit)
    const content = skipBlanks(text, at, end)
    if (!isBlankAt(text, content) && !isNothing(text, content)) {
      const isItem = content === at && isDash(text, content)
      if (content - at <= indent && !(isItem && mayBeItem)) break
      if (last === from) mayBeItem = isKey && isItem
      last = end
    }
    at = end
  }
  return last
}
