import { lineEnd } from './lines.ts'

export interface Span {
  readonly start: number
  readonly end: number
}

/** Where a quoted text ends, the quote included; `limit` where it never does. */
export function quoteEnd(text: string, start: number, limit: number): number {
  const quote = text[start]!
  for (let at = start + 1; at < limit; at += 1) {
    if (quote === '"' && text[at] === '\\') at += 1
    else if (text[at] === quote) {
      if (quote === '"' || text[at + 1] !== "'") return at + 1
      at += 1
    }
  }
  return limit
}

/** The end of a `[…]` or `{…}`, and the places of its own items, without those inside of them. */
export function readFlow(
  text: string,
  start: number,
  limit: number,
): { end: number; items: Span[] } {
  const items: Span[] = []
  let item: Span | undefined
  let depth = 0
  for (const { at, behind, sign } of flowSigns(text, start, limit)) {
    if (sign === ']' || sign === '}') depth -= 1
    if (depth === 0 && at > start) {
      return { end: behind, items: item === undefined ? items : [...items, item] }
    }
    if (depth === 1 && sign === ',') {
      if (item !== undefined) items.push(item)
      item = undefined
    } else if (at > start) {
      item = { start: item?.start ?? at, end: behind }
    }
    if (sign === '[' || sign === '{') depth += 1
  }
  return { end: limit, items }
}

/** What is neither blank nor a comment, sign by sign; a text in quotes is one. */
function* flowSigns(
  text: string,
  start: number,
  limit: number,
): Generator<{ at: number; behind: number; sign: string }> {
  let before = ''
  for (let at = start; at < limit;) {
    const sign = text[at]!
    let behind = at + 1
    if (sign === '#' && isBlankAt(text, at - 1)) {
      behind = lineEnd(text, at, limit)
    } else if (!isBlankAt(text, at)) {
      const isQuote = (sign === '"' || sign === "'") && '[{,:'.includes(before)
      if (isQuote) behind = quoteEnd(text, at, limit)
      yield { at, behind, sign }
      before = sign
    }
    at = behind
  }
}

/** Where the comment of a line begins, or else its content ends. */
export function commentAt(text: string, start: number, end: number): number {
  for (let at = text.indexOf('#', start); at !== -1 && at < end; at = text.indexOf('#', at + 1)) {
    if (at === start || isBlankAt(text, at - 1)) return at
  }
  return trimBack(text, start, end)
}

export function skipBlanks(text: string, from: number, end: number): number {
  let at = from
  while (at < end && (text[at] === ' ' || text[at] === '\t')) at += 1
  return at
}

export function trimBack(text: string, start: number, end: number): number {
  let at = end
  while (at > start && isBlankAt(text, at - 1)) at -= 1
  return at
}

export function lineStart(text: string, at: number): number {
  return text.lastIndexOf('\n', at - 1) + 1
}

/** True also behind the end of the text. */
export function isBlankAt(text: string, at: number): boolean {
  const sign = text[at]
  return sign === undefined || sign === ' ' || sign === '\t' || sign === '\n' || sign === '\r'
}

export function isComment(text: string, at: number): boolean {
  return text[at] === '#'
}

export function isDash(text: string, at: number): boolean {
  return text[at] === '-' && isBlankAt(text, at + 1)
}
