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
} from './yaml-signs.ts'

/** How a value is written: on the line of its key, over the lines below, or not at all. */
type Layout = 'empty' | 'plain' | 'quoted' | 'flow' | 'scalar' | 'block'

interface Value extends Span {
  readonly layout: Layout
  /** Behind the last line that belongs to it. */
  readonly behind: number
}

/** A top-level `key: value` of the frontmatter, with the places of its parts. */
export interface Entry {
  readonly key: string
  readonly start: number
  /** Behind the colon. */
  readonly colon: number
  readonly value: Value
}

/** The top-level entries; what is written in some other way (`? key`, `{…}`) is not among them. */
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
    at = value.behind
  }
  return entries
}

/** What a value belongs to: lines that are indented deeper continue it. */
interface Holder {
  readonly indent: number
  /** Only below a key may the items of a list stand no deeper than their holder. */
  readonly isKey: boolean
}

const KEY: Holder = { indent: 0, isKey: true }
const NO_KEY = new Set(' \t\r\n#-?[]{},&*!|>%@`')
const QUOTED_KEY = /(?:"([^"\\\n]*)"|'([^'\n]*)')[ \t]*:(?=\s|$)/y

function readKey(
  text: string,
  at: number,
  end: number,
): { name: string; colon: number } | undefined {
  const first = text[at]!
  if (NO_KEY.has(first)) return undefined
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

/** The value behind a colon or a dash. */
export function readValue(text: string, from: number, limit: number, holder: Holder): Value {
  const end = lineEnd(text, from, limit)
  const start = skipBlanks(text, from, end)
  const first = start < end ? text[start]! : '\n'
  if (first === '\n' || first === '\r' || (first === '#' && start > from)) {
    return readBelow(text, from, end, limit, holder)
  }
  if (first === '|' || first === '>') {
    const header = trimBack(text, start, commentAt(text, start, end))
    const behind = lastLine(text, end, limit, holder, () => false)
    return { layout: 'scalar', start, end: header, behind }
  }
  if (first === '"' || first === "'")
    return closed(text, start, quoteEnd(text, start, limit), limit)
  if (first === '[' || first === '{') {
    return closed(text, start, readFlow(text, start, limit).end, limit)
  }
  return readPlain(text, start, end, limit, holder)
}

function closed(text: string, start: number, end: number, limit: number): Value {
  const layout = text[start] === '[' || text[start] === '{' ? 'flow' : 'quoted'
  return { layout, start, end, behind: lineEnd(text, end, limit) }
}

function readPlain(text: string, start: number, end: number, limit: number, holder: Holder): Value {
  const comment = commentAt(text, start, end)
  const isOver = text[comment] === '#'
  const behind = isOver ? end : lastLine(text, end, limit, holder, isComment)
  const tail = behind === end ? comment : commentAt(text, lineStart(text, behind - 1), behind)
  return { layout: 'plain', start, end: trimBack(text, start, tail), behind }
}

function readBelow(text: string, from: number, end: number, limit: number, holder: Holder): Value {
  const behind = lastLine(text, end, limit, holder, isComment)
  const layout = behind === end ? 'empty' : 'block'
  return { layout, start: from, end: from, behind }
}

/** Behind the last of the lines that continue a value; blank ones and comments may stand between. */
function lastLine(
  text: string,
  from: number,
  limit: number,
  { indent, isKey }: Holder,
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
